"""The sources of a prompt: attachments and pinned providers, read through a view."""
