"""Files as editors name them: `file:` URIs."""

import os
import posixpath
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from ..limits import LSP_WAITING_MAX

_SAFE: Final = "/~!$&'()*+,;=@"


def path_of(uri: str) -> str | None:
    """The absolute path; None for what is no file of this machine, or has a name that is no UTF-8."""
    try:
        parts = urlsplit(uri)
        path = unquote_to_bytes(parts.path).decode()
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc.lower() not in ("", "localhost") or "\0" in path:
        return None
    return posixpath.normpath(path) if path.startswith("/") else None


def uri_of(path: str) -> str:
    return f"file://{quote(path, safe=_SAFE)}"


def note_of(path: str, root: str) -> str | None:
    """The note or other file that a path is in the vault at `root`; None if it is none."""
    if not path.startswith(f"{root.rstrip('/')}/"):
        return None
    note = path[len(root.rstrip("/")) + 1 :]
    return None if any(part.startswith(".") for part in note.split("/")) else note


def real_path(path: str) -> str | None:
    """Where a file really lies; a file that is not there yet lies where its folder does. None: a link that leads
    nowhere, or a name that is no UTF-8. Touches the disk."""
    try:
        there = os.path.lexists(path)
        file = Path(path)
        found = str(file.resolve(strict=True) if there else file.parent.resolve() / file.name)
        found.encode()
    except (OSError, UnicodeEncodeError):
        return None
    return found


def notes_below(path: str) -> list[str]:
    """The notes below a folder, as what to put behind its path; of a file the empty string. Touches the disk."""
    folder = Path(path)
    if not folder.is_dir():
        return [""]
    found = []
    for file in folder.rglob("*.[mM][dD]"):
        found.append(str(file)[len(path) :])
        if len(found) == LSP_WAITING_MAX:
            break
    return sorted(found)
