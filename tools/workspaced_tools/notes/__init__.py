"""A note's text and what is read out of it. No files."""
