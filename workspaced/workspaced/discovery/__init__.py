"""Finds the daemons on this machine by their folders, and our own files; starts one on demand."""
