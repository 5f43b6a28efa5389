"""Commands for recorded calls."""
