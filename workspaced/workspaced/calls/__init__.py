"""Calls of tools: answered over the present or the past, on the loop or on a thread, and counted."""
