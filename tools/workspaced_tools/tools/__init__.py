"""The tools, one file each, and their common parts."""
