"""`workspaced mcp`: copies bytes between an agent's standard input and output and the daemon."""
