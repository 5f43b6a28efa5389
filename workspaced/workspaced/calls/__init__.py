"""Calls of tools: answers about the present or the past, on the loop or on a thread, with statistics."""
