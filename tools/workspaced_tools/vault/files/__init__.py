"""The vault's files: safe opening, walking, the content cache, ignore rules and note visibility."""
