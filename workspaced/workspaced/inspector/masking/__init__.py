"""Masks notes that are withheld from agents, in all that the page shows of a running daemon's log."""
