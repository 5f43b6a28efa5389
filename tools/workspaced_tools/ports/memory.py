"""The values in commands to the memory folder and in their answers."""

from typing import Final, Literal

import msgspec

MEMORY_ROOT: Final = "/memories"
"""The memory folder as agents name it."""
MemoryVerb = Literal["view", "create", "str_replace", "insert", "delete", "rename"]


class MemoryFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of the memory folder."""

    path: str
    """As agents name it: below `/memories`."""
    bytes: int


class MemoryAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a command found, or made."""

    path: str
    """Of the file or folder that the command was about, without a slash at its end."""
    text: str | None = None
    """The file's text; after an edit the new one. None: the path is a folder's, or the command tells no text."""
    files: tuple[MemoryFile, ...] = ()
    """Of a folder: all files below it, sorted by path."""
    lines: tuple[int, int] | None = None
    """The first and the last line that an edit made, from 1; an edit that only removed names one line."""
