"""Clients of the daemon in Python, asynchronous and synchronous."""
