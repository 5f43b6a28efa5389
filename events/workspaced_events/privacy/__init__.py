"""Taking notes out of a log: pseudonyms for a copy that is given away, erasure in the log itself."""
