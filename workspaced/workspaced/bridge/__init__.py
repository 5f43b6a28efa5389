"""`workspaced mcp`: connects an agent's standard input and output with the daemon's socket."""
