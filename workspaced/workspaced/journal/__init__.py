"""The log of a running daemon: appends published actions, delivers the latest events."""
