"""Measures JSON nesting without a parser, because a parser recurses once per level."""

import re
from typing import Final

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def is_deeper(text: bytes, levels: int) -> bool:
    """Whether the JSON `text` has more than `levels` levels. Linear; ignores brackets in strings."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    for byte in _STRINGS.sub(b"", text):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        elif byte in b"]}":
            depth -= 1
    return False
