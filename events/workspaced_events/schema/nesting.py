"""Measures JSON nesting without a parser, because a parser recurses once per level."""

import re
from typing import Final

_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string without an end reaches to the end of the text: tried at each of its quotes, it would take time by the
square of its length."""
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def is_deeper(text: bytes, levels: int) -> bool:
    """Whether the JSON `text` has more than `levels` levels. Linear; ignores brackets in strings."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    for byte in _STRINGS.sub(b"", text).translate(None, _NO_BRACKETS):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        else:
            depth -= 1
    return False
