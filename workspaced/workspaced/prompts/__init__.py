"""Commands of conversations: parameters in, a prompt or actions to append out."""
