"""Masks notes that are withheld from agents in what views show of a running daemon's log."""
