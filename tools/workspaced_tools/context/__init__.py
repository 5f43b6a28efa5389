"""Prompt context: what a runtime sends to a model, in layers from most to least stable."""
