"""Connects agents' programs: MCP entries and hooks in their settings, and a ledger of what that leaves."""
