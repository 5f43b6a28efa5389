"""Conversations as Markdown files."""
