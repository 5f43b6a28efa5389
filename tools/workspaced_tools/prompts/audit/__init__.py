"""Prompts after the fact: their events, made again, and what became of the provider's cache."""
