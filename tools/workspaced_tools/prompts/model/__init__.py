"""The values that prompts are made of."""
