"""The parts of a daemon put together, without a socket, and the interface of its sessions."""
