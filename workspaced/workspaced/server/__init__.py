"""The listening socket, its connections, and which protocol each one speaks."""
