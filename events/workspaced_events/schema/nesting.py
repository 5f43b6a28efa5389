"""How deep JSON is nested, without a parser: parsers go down one step of their stack for each level."""

import re
from typing import Final

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def is_deeper(text: bytes, levels: int) -> bool:
    """Whether the JSON `text` is nested deeper than so many levels. Linear; brackets in strings do not count."""
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
