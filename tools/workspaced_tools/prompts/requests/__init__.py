"""Renders a prompt as the body of a provider's request."""
