"""Conversations as Markdown notes."""
