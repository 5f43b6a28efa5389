"""An HTTP server for this machine alone: its port, its signals, its end."""
