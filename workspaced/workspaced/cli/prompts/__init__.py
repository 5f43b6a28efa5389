"""Commands about prompts."""
