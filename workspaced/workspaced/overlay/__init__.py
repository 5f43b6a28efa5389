"""Puts context into requests to providers: what stands, what is new, inserted between the client's bytes."""
