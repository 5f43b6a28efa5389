"""Prompts: their values, sources, assembly, provider requests, citations and audit."""
