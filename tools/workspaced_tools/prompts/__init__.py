"""Prompts: their values, sources, assembly, provider requests and audit."""
