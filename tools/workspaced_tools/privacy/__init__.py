"""Redacts recordings: replaces their names and texts by pseudonyms."""
