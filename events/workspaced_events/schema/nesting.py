"""Measures JSON nesting without a parser, because a parser recurses once per level."""

import re
from typing import Final

_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""Possessive, and one without an end too: else each of its quotes would be tried anew, in quadratic time."""
_BRACKETS: Final = b"[]{}"
_OTHERS: Final = bytes(byte for byte in range(256) if byte not in _BRACKETS)


def open_levels(text: bytes) -> int:
    """How many more brackets of the JSON `text` open than close. Linear; ignores brackets in strings."""
    brackets = _STRINGS.sub(b"", text) if b'"' in text else text
    return brackets.count(b"[") + brackets.count(b"{") - brackets.count(b"]") - brackets.count(b"}")


def is_deeper(text: bytes, levels: int) -> bool:
    """Whether the JSON `text` has more than `levels` levels. Linear; ignores brackets in strings."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    for byte in _STRINGS.sub(b"", text).translate(None, _OTHERS):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        else:
            depth -= 1
    return False
