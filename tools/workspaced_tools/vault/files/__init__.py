"""The vault's files: opened safely, walked, kept in memory, and withheld by rules."""
