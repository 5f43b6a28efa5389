"""The parts of a daemon put together, without any socket, and what its sessions may ask of them."""
