"""`workspaced mcp`: an agent's standard input and output, joined to the daemon's socket."""
