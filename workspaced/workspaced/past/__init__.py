"""A daemon over a moment of a recorded log: answers agents with what was recorded, and takes nothing."""
