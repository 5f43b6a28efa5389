"""What is read for a prompt, through a view."""
