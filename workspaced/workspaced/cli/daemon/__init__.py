"""Commands about the daemon and what surrounds it."""
