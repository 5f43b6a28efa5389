"""Writes to the memory folder: each is recorded before the file changes; undoing, and ending interrupted ones."""
