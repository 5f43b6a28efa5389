"""Keys of a link: who is a member, and how messages are sealed, signed and opened."""
