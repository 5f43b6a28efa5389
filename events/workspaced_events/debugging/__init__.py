"""Finding the event after which something holds, and shrinking a log to what still shows it."""
