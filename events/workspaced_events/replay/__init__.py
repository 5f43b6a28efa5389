"""A log as a source of events: a directory, JSON Lines, a bundle or a slice, moved through by sequence or time."""
