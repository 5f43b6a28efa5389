"""MCP on the daemon's own socket: handlers of both its generations."""
