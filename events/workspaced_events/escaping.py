"""Text of others on a terminal. Imports nothing: every command needs it."""


def shown(text: str) -> str:
    """Text from notes or logs for a terminal: control characters are made visible instead of obeyed."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)
