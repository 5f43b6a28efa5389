"""Commands that run a daemon or look after it, and what it speaks: MCP and schemas."""
