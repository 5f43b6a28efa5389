"""Commands of conversations: from parameters to a prompt, or to actions to append."""
