"""Search results in prompts, and the sources that answers cite."""
