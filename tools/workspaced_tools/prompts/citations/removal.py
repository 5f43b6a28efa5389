"""What goes with a removed citation mark: what held only it (brackets, quotes, emphasis), its comma, its blanks.

Removing `[9]` alone leaves `()`, `****`, `[, 1]` or a blank before the full stop; models write all of these. What
stood empty before stays as it was.
"""

import re
from typing import Final

_BRACKETS: Final = (
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("（", "）"),
    ("【", "】"),
    ("<sup>", "</sup>"),
    (r"\(", r"\)"),
)
_TIGHT: Final = (
    *(("**", "**"), ("__", "__"), ("~~", "~~"), ("==", "=="), ("*", "*"), ("_", "_")),
    *(('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("„", "”"), ("‘", "’"), ("«", "»"), ("‹", "›")),
)
"""These hold what stands right at them."""
_LEAD_WORD: Final = re.compile(r"(?:see|cf\.?|from|ref\.?|sources?:?|references?:?)[ \t]+\Z", re.I)
_LEAD_WORD_CHARS_MAX: Final = 16
_STOPS: Final = (",", ";", ".", ":")
_CLOSES: Final = ".,;:!?)]}）】"
_ENDS_WORD: Final = frozenset(f" \t\r\n{_CLOSES}\"'”’»›")
_EMPHASIS: Final = "*_~="
_OPENS: Final = frozenset("([{（【“„‘«‹")
_LINE_LEAD: Final = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])|#{1,6}(?=[ \t]))*")
_LINE_LEAD_CHARS_MAX: Final = 64


def held(text: str, start: int, end: int) -> tuple[int, int]:
    """The widest span around `start` to before `end` that holds nothing else. Linear in what it adds."""
    while (wider := _wider(text, start, end)) is not None:
        start, end = wider
    return start, end


def with_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the commas and blanks that are superfluous once it is gone."""
    before, after = _blanks_before(text, start), _blanks_after(text, end)
    if before == 0 or text[before - 1] in "\r\n":
        return start, _without_comma(text, after)
    if _begins_phrase(text, start, before):
        return start, _without_comma(text, after)
    if _follows_lead(text, before) and (behind := _without_comma(text, after)) != after:
        return start, behind
    ends = after == len(text) or text[after] in _CLOSES
    if text[before - 1] in ",;" and ends:
        return before - 1, end
    return (before if _ends_word(text, end) else start), end


def _wider(text: str, start: int, end: int) -> tuple[int, int] | None:
    for opening, closing in _TIGHT:
        behind = end + (text[end : end + 1] in (".", ":", ",") and opening[0] in _EMPHASIS)
        if text.startswith(closing, behind) and text.endswith(opening, 0, start):
            left, right = start - len(opening), behind + len(closing)
            if not (_is_word(text, left - 1) and _is_word(text, right)) and not _is_escaped(text, left):
                return left, right
    left, right = _blanks_before(text, start), _blanks_after(text, end)
    behind = _blanks_after(text, right + (text[right : right + 1] in _STOPS))
    for opening, closing in _BRACKETS:
        for stop in {right, behind}:
            if not text.startswith(closing, stop):
                continue
            for begin in (left, _before_lead_word(text, start)):
                is_escaped = len(opening) == 1 and _is_escaped(text, begin - 1)
                if text.endswith(opening, 0, begin) and not is_escaped:
                    return begin - len(opening), stop + len(closing)
    return None


def _before_lead_word(text: str, start: int) -> int:
    """The place before a word such as `see` that stands between an opening bracket and `start`."""
    window = max(0, start - _LEAD_WORD_CHARS_MAX)
    found = _LEAD_WORD.search(text[window:start])
    return window + found.start() if found is not None else start


def _begins_phrase(text: str, start: int, before: int) -> bool:
    """Whether an opening bracket, quote or emphasis ends right before the span."""
    sign = text[before - 1]
    if sign in _OPENS:
        return True
    if before != start or sign not in f"{_EMPHASIS}\"'":
        return False
    first = start
    while first > 0 and text[first - 1] == sign:
        first -= 1
    return first == 0 or text[first - 1].isspace() or text[first - 1] in _OPENS


def _ends_word(text: str, end: int) -> bool:
    """Whether what follows the span belongs to what stands before it."""
    behind = end
    while text[behind : behind + 1] and text[behind] in _EMPHASIS:
        behind += 1
    return behind == len(text) or text[behind] in _ENDS_WORD


def _follows_lead(text: str, before: int) -> bool:
    """Whether only the lead of a line stands before `before`: a list's sign, a quote's, a heading's."""
    first = before
    while first > 0 and text[first - 1] not in "\r\n" and before - first < _LINE_LEAD_CHARS_MAX:
        first -= 1
    return _LINE_LEAD.fullmatch(f"{text[first:before]} ") is not None


def _without_comma(text: str, after: int) -> int:
    return _blanks_after(text, after + 1) if text[after : after + 1] in (",", ";") else after


def _blanks_before(text: str, place: int) -> int:
    while place > 0 and text[place - 1] in " \t":
        place -= 1
    return place


def _blanks_after(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return place


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()


def _is_escaped(text: str, place: int) -> bool:
    before = place
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1
