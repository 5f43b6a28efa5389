"""The demo: a sample vault and a recorded session."""
