"""Commands for the daemon and its surroundings."""
