"""Finds where a predicate becomes true, and shrinks the log to the few events that lead there, as files."""
