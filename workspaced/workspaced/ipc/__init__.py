"""Our own wire protocol without a loop: frames, JSON-RPC, parameters, the peer."""
