"""The identifiers in events, and the syntax of a note's path."""

import random
import time
import unicodedata
from functools import lru_cache
from typing import NewType

from .errors import InvalidArgument, OutsideVault
from .limits import NOTE_ID_CHARS_MAX

NoteId = NewType("NoteId", str)
"""A note's path in the vault: POSIX separators, NFC."""
VaultId = NewType("VaultId", str)
TabId = NewType("TabId", str)
EventId = NewType("EventId", str)
ConversationId = NewType("ConversationId", str)
MessageId = NewType("MessageId", str)
OriginId = NewType("OriginId", str)
"""A daemon of a link of several machines: 32 hexadecimal digits."""
LinkedVaultId = NewType("LinkedVaultId", str)
"""The random id that all daemons of a link know a vault by: 32 hexadecimal digits."""

COMPONENT_BYTES_MAX = 255
_ECHO_CHARS_MAX = 200
_KNOWN_PATHS = 4_096
"""Publishers name the same notes again and again, so checked paths are cached."""


@lru_cache(maxsize=_KNOWN_PATHS)
def note_id(path: str) -> NoteId:
    """The id of the note at the vault-relative `path`. Checks the syntax only; touches no file.

    Any ending will do: which files belong to a vault is the vault's question.

    Raises:
        OutsideVault: absolute, with `..` as a component, or with a NUL.
        InvalidArgument: empty, too long, in a dot folder, or with empty components.
    """
    shown = repr(path[:_ECHO_CHARS_MAX])
    if "\0" in path:
        raise OutsideVault(f"The path {shown} holds a NUL byte.", hint="Give a path inside the vault.")
    path = unicodedata.normalize("NFC", path)
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise OutsideVault(
            f"The path {shown} leads out of the vault.",
            hint="Give a path relative to the vault's root, without '..', such as 'work/plan.md'.",
        )
    if not path.isprintable() and any("\ud800" <= ch <= "\udfff" for ch in path):
        raise InvalidArgument(f"The path {shown} is not valid Unicode.", hint="Notes have UTF-8 names.")
    names = path.encode().split(b"/")
    if len(path) > NOTE_ID_CHARS_MAX or any(len(name) > COMPONENT_BYTES_MAX for name in names):
        raise InvalidArgument(
            f"The path {shown} is too long.",
            hint=f"At most {NOTE_ID_CHARS_MAX} characters, {COMPONENT_BYTES_MAX} bytes for one name.",
        )
    if any(part == "" or part.startswith(".") for part in parts):
        raise InvalidArgument(
            f"The path {shown} has an empty or hidden component.",
            hint="Files in dot folders are no notes; write 'folder/note.md'.",
        )
    return NoteId(path)


def is_markdown(path: str) -> bool:
    """Whether the file at `path` is Markdown, by its ending in any case."""
    return path[-3:].lower() == ".md"


def uuid7() -> str:
    """A UUIDv7 (RFC 9562): milliseconds, then 74 random bits. Our ids must be unique, not unguessable."""
    milliseconds = time.time_ns() // 1_000_000 & (1 << 48) - 1  # a clock may be before 1970
    value = milliseconds << 80 | 7 << 76 | random.getrandbits(12) << 64
    value |= 2 << 62 | random.getrandbits(62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
