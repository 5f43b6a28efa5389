"""MCP on the daemon's own socket: both eras, decided per connection by its first request."""
