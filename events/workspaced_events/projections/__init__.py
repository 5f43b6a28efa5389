"""Projections of the log: pure functions from a state and an event to the next state."""
