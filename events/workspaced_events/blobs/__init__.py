"""Texts named by their hash, beside the log: durable ones that events rest on, evictable ones that agents
were shown.
"""
