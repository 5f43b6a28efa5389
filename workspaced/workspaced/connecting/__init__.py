"""Connects agents' programs: MCP entries and hooks in their settings."""
