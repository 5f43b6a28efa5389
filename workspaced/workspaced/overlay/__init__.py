"""Reads where a request to a provider takes context, and inserts it: every byte of the client's stays. No I/O."""
