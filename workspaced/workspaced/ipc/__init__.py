"""The wire of our own protocol, without a loop: frames, JSON-RPC, parameters, the peer."""
