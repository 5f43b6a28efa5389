"""Adapters for agent frameworks: each puts context into the requests that its framework sends to a model."""
