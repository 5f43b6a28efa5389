"""One folder of notes as tools see it."""
