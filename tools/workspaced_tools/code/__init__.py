"""Source code among the notes: the language of a file, and its outline."""
