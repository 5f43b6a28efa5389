"""Prompts: their values, sources, assembly, provider requests, citations, planning and audit."""
