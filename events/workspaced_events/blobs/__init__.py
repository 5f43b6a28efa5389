"""Texts named by their hash, beside the log: durable ones that events need, evictable ones shown to agents."""
