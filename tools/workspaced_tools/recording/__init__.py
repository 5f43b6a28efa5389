"""What a call read: recorded, written, read back, listed, and summed up."""
