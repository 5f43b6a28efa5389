"""Carries messages between daemons by a NATS server that the user runs; of what it sends at once, a bound."""
