"""What a plan of tool calls would read and cost."""
