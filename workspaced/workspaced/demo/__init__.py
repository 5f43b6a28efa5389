"""The demo: a sample vault, a recorded session, and the log of a morning with a wrong answer."""
