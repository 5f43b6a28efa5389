"""A note's text and the values parsed from it. No I/O."""
