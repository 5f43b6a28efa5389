"""The demo: a sample vault, a recorded session, and the whole story played on them."""
