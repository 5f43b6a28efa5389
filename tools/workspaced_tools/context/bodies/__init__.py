"""Prompts as the bodies of providers' requests, and what providers say of them."""
