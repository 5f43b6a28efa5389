"""Reads requests in the forms of providers as messages of a conversation."""
