"""Writes links anew after their note was renamed. Pure.

A link keeps its form: a bare name stays bare where that still leads to the note, a path stays a path, a relative
path stays relative, and heading, block and alias stay as they are written.
"""

import posixpath
import re
from typing import Final
from urllib.parse import quote

from workspaced_tools.notes.name_keys import without_ending

_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>#^|\[\]]")
_DESTINATION: Final = re.compile(r"\]\((?:<(?P<open>[^<>#?\n]*)|(?P<plain>[^\s()<>#?]*))")
_SAFE: Final = "/~!$&'*+,;=@"


def new_path(old: str, name: str) -> str | None:
    """The path of the note `old` under a new name: in its folder, or with a slash from the vault's root. None if
    no note may be called so, or no link can hold the name."""
    name = without_ending(name.strip().strip("/"))
    parts = name.split("/")
    if not name or _NOT_IN_NAMES.search(name) or any(part.strip() in ("", ".", "..") for part in parts):
        return None
    if any(part.startswith(".") for part in parts):
        return None
    folder = "" if "/" in name else old.rpartition("/")[0]
    return f"{folder}/{name}.md" if folder else f"{name}.md"


def rewritten(raw: str, target: str, source: str, note: str, *, wiki: bool, bare: bool) -> str | None:
    """The link `raw` of the note `source`, leading to the path `note`; None: it is written elsewhere, as a
    definition by which several links may lead, and is left to the user.

    Args:
        target: the name or path that the link has now, percent-decoded.
        bare: whether the bare name of the note leads to it from there.
    """
    if wiki:
        return _wikilink(raw, target, source, note, bare=bare)
    return _path_link(raw, target, source, note)


def _wikilink(raw: str, target: str, source: str, note: str, *, bare: bool) -> str | None:
    begun = raw.find("[[") + 2
    at = raw.find(target, begun)
    if begun < 2 or at < 0:
        return None
    if target.startswith(("./", "../")):
        name = _relative(source, note)
    elif "/" in target or not bare:
        name = note
    else:
        name = note.rpartition("/")[2]
    if target[-3:].lower() != ".md":
        name = without_ending(name)
    if target.startswith("/"):
        name = f"/{name}"
    return raw[:at] + name + raw[at + len(target) :]


def _path_link(raw: str, target: str, source: str, note: str) -> str | None:
    every = list(_DESTINATION.finditer(raw))
    if not every or every[-1][0].endswith(("(", "<")):
        return None
    found = every[-1]  # an image within the link's text has one too
    group = "plain" if found["open"] is None else "open"
    path = f"/{note}" if target.startswith("/") else _relative(source, note)
    if target[-3:].lower() != ".md":
        path = without_ending(path)
    written = quote(path, safe=_SAFE) if group == "plain" else path
    return raw[: found.start(group)] + written + raw[found.end(group) :]


def _relative(source: str, note: str) -> str:
    return posixpath.relpath(note, source.rpartition("/")[0] or ".")
