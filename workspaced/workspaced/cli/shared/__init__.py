"""The common parts of commands: options, the connection, output."""
