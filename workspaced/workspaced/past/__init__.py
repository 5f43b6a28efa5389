"""A daemon over a moment of a recorded log: gives stored answers first, then what the log tells; takes nothing."""
