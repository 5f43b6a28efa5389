"""Views of prompts: conversations, one prompt by its layers, two side by side, and what was never used."""
