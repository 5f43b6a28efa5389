"""Recordings of what calls read: writing, reading, listing, comparing, and usage statistics."""
