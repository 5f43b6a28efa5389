"""What agents are told without asking: remembers what each session was told, and records what its runtime took."""
