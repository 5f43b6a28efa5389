"""The log of a running daemon: actions on their way in, the latest events on their way out."""
