"""Removes notes from logs: pseudonyms in a redacted copy, erasure in the log itself."""
