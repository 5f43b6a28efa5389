"""Recorded prompts: their events and manifests, rebuilding them, and accounting of the provider's cache."""
