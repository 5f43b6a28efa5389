"""Masks notes that are withheld from agents in what views show; over a running daemon not yet in use."""
