"""Recorded calls made again, and views of the past."""
