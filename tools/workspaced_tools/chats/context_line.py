r"""The line of a chat file that names a message's attachments.

    [Context: Notes: work/plan.md, b\, c.md | URLs: https://example.org/ | Tags: design | Folders: work]

Names are whole: vault-relative paths, URLs. Each comma, bar, bracket and backslash in a name gets a backslash, and
an invisible character is written as `\u{200b}`. So every name survives, and a person can still write one.
"""

import re
from collections import Counter
from typing import Final, NamedTuple

from workspaced_events.schema.catalogue import AttachmentKind

from .model import SavedAttachment

BEGIN: Final = "[Context:"
GROUPS: Final[dict[str, tuple[AttachmentKind, ...]]] = {
    "Notes": ("note", "active_note"),
    "URLs": ("url",),
    "Tags": ("tag",),
    "Folders": ("folder",),
    "Selections": ("selected_text",),
    "Files": ("file", "pdf"),
    "Images": ("image",),
    "Others": ("dataview", "tool_result", "skill"),
}
"""The groups of a line and their kinds; the first kind is that of a name that a person adds to the group."""
GROUP_OF: Final = {kind: group for group, kinds in GROUPS.items() for kind in kinds}

_TOKEN: Final = re.compile(r"\\(?:u\{[0-9a-fA-F]{1,6}\}|[\\,|\[\]])|, | \| |[^\\, ]+|.", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|([\\,|\[\]]))")
_GROUP: Final = re.compile(r"[ \t]*(\w+):(?: |\Z)")


class Line(NamedTuple):
    """The names in a context line."""

    groups: dict[str, list[str]]
    closed: bool
    """Whether the line ends with a bracket."""
    unknown: tuple[str, ...]
    """Parts without a known group, which are not read."""


def context_line(attachments: tuple[SavedAttachment, ...]) -> str | None:
    """The line for the attachments that have a name; None if none has."""
    named: dict[str, list[str]] = {group: [] for group in GROUPS}
    for each in attachments:
        if each.id:
            named[GROUP_OF[each.kind]].append(_escaped(each.id))
    groups = [f"{group}: {', '.join(names)}" for group, names in named.items() if names]
    return f"{BEGIN} {' | '.join(groups)}]" if groups else None


def read_line(line: str) -> Line:
    """Reads a line that begins with BEGIN; a line without its closing bracket is read to its end. Linear."""
    inner = line.removeprefix(BEGIN).rstrip(" \t\r")
    tokens = _TOKEN.findall(inner)
    closed = bool(tokens) and tokens[-1].endswith("]") and not tokens[-1].startswith("\\")
    if closed:
        tokens[-1] = tokens[-1][:-1]
    groups: dict[str, list[str]] = {}
    unknown = []
    for part in _split(tokens, " | "):
        text = "".join(part)
        begin = _GROUP.match(text)
        if begin is None or begin[1] not in GROUPS:
            unknown += [text.strip(" ")] if text.strip(" ") else []
            continue
        names = _split(_TOKEN.findall(text[begin.end() :]), ", ")
        groups.setdefault(begin[1], []).extend(name for each in names if (name := _unescaped("".join(each))))
    return Line(groups, closed, tuple(unknown))


def merged(line: Line, hidden: tuple[SavedAttachment, ...] | None) -> tuple[SavedAttachment, ...]:
    """The attachments that the line names, with the comment's details about them.

    An attachment in the comment that the line could name but does not was removed by a person.

    `hidden`: the comment's attachments; None: the comment has none.
    """
    counts = Counter((group, name) for group, names in line.groups.items() for name in names)
    kept = []
    for each in hidden or ():
        place = GROUP_OF[each.kind], each.id
        if not each.id:
            kept.append(each)
        elif counts[place]:
            counts[place] -= 1
            kept.append(each)
    for group, names in line.groups.items():
        for name in names:
            if counts[group, name]:
                counts[group, name] -= 1
                kept.append(SavedAttachment(GROUPS[group][0], name))
    return tuple(kept)


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _escaped(name: str) -> str:
    inner = "".join(map(_mark, name.strip(" ")))
    before, after = len(name) - len(name.lstrip(" ")), len(name) - len(name.rstrip(" "))
    space = "\\u{20}"
    return space * len(name) if not inner else space * before + inner + space * after


def _mark(char: str) -> str:
    if char in frozenset("\\,|[]"):
        return f"\\{char}"
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_char, text.strip(" \t"))


def _char(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match[0]
