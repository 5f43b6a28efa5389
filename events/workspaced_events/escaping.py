"""Makes untrusted text safe for a terminal. Imports nothing, because every command needs it."""


def escape_control(text: str) -> str:
    """Escapes the control characters in text from notes or logs, so that a terminal does not obey them."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)
