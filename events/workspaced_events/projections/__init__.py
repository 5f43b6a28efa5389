"""What events fold into: pure functions from a state and an event to the next state."""
