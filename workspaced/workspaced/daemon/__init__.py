"""A daemon's life from start to stop, and its settings."""
