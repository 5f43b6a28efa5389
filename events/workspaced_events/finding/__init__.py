"""Finds the event at which a predicate becomes true, and shrinks a log that satisfies it."""
