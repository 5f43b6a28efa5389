"""What commands have in common: options, the connection, what they print."""
