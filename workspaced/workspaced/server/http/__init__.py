"""MCP's Streamable HTTP on the same socket, for clients that speak nothing else."""
