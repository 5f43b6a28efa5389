"""Recordings under pseudonyms."""
