"""A log as a source of events (directory, JSON Lines, bundle, slice), read by sequence or time."""
