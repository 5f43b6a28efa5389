"""Views of prompts: conversations, overlaid chats, one prompt by layers, two side by side, what nobody used."""
