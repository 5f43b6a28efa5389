"""`workspaced mcp`: hands an agent's standard input and output over to the daemon, or copies their bytes."""
