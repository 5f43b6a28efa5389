"""A prompt out of a conversation and what was read for it. Pure."""
