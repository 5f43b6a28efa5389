"""Prompts: what they are made of, how they are assembled, sent and made again."""
