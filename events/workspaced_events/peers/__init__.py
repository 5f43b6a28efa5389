"""One workspace on several machines: what its daemons share, and how their views merge."""
