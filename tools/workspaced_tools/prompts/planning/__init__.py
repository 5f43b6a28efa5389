"""Plans of tool calls: the prompt that asks for one, and the check of the answer."""
