"""MCP on the daemon's own socket: the handlers of both its generations."""
