"""Finds the daemons on this machine by their folders; starts one on demand."""
