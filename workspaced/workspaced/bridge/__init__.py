"""`workspaced mcp`: copies lines between an agent's standard input and output and the daemon, and outlives it."""
