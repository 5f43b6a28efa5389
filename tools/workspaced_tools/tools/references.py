"""Notes as agents name them. A model writes a reference as it found it: the path or URI of a file or resource, in
quotes, as a link, behind an `@`. What a note is really called comes first.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from ..ports.questions import Question, Resolve
from ..ports.vault import Resolution
from ..ports.view import View
from .note_answers import served_vault

RESOURCE: Final = "workspace://note/"
"""What the URI of a note begins with, as our MCP resources have it."""
_FILE: Final = "file://"
_QUOTES: Final = frozenset({'""', "''", "``", "“”", "‘’", "<>"})
_LINK: Final = re.compile(r"!?\[[^\]]*\]\((.+)\)")
_SLASHES: Final = re.compile(r"[/\\]+")


def resolved(view: View, reference: str, question: Callable[[str], Question[Resolution]] = Resolve) -> Resolution:
    """What a reference means: as it is written, else without what stands around it.

    Raises: as the question, and as `served_vault`.
    """
    vault, _ = served_vault(view)
    written = in_vault(view, reference)
    found = vault.ask(question(written))
    # As a path of single slashes, without `@`, quotes and the brackets of a Markdown link around it.
    text = written.strip().removeprefix("@")
    while len(text) > 2 and text[0] + text[-1] in _QUOTES:
        text = text[1:-1].strip()
    if (link := _LINK.fullmatch(text)) is not None:
        text = link[1].strip().removeprefix("<").removesuffix(">")
    bare = _SLASHES.sub("/", unquote(text)).rstrip("/")
    if found.note is not None or found.candidates or not found.complete or bare in ("", written):
        return found
    again = vault.ask(question(bare))
    return again if again.note is not None or again.candidates else found


def in_vault(view: View, path: str) -> str:
    """A path or URI of a file in the current vault, or of a resource, as a path from the vault's root. Other texts
    stay as they are; so does a path of the host for a client that is not told where the vault lies."""
    text = path.strip()
    if text.startswith(RESOURCE):
        return unquote(text.removeprefix(RESOURCE))
    if text.startswith(_FILE):
        text = unquote(text.removeprefix(_FILE))
    root = view.current.path.rstrip("/") if view.current is not None and view.sharing == "all" else None
    if root is not None and (text == root or text.startswith(f"{root}/")):
        return text[len(root) :].strip("/")
    return text if text.startswith("/") else path
