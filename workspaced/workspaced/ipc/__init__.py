"""The socket: one line, one JSON-RPC 2.0 message (ARCHITECTURE.md, "The socket")."""
