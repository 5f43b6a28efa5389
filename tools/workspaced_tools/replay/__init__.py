"""Replays recorded calls, and answers questions about the past."""
