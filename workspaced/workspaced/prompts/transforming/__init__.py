"""Finds the conversation that a request's messages go on with, and gives them back with context in place."""
