"""Carries messages between daemons by a NATS server that the user runs, from a process of bounded memory."""
