"""The memory's part of the catalogue (entered by catalogue.py): what agents write into the memory folder.

A write is an event before it is a file. `memory_written` is durable, with both texts as blobs, before the file
changes; `memory_write_ended` says afterwards what became of it. A write without an end was interrupted, and the
daemon ends it at its next start.
"""

from typing import Annotated, Literal

import msgspec

from ..ids import NoteId
from .registry import Data, Entry, Number, Redact, Sha256

MemoryCommand = Literal["create", "str_replace", "insert", "delete", "rename", "undo"]
MemoryOutcome = Literal["done", "failed", "unknown"]
BESIDE_VAULTS = "/"
"""Begins the `note` of a file in a memory folder beside the vaults. No note's path in a vault begins with it."""


def _written(data: "MemoryWritten") -> str:
    moved = f" from {data.from_}" if data.from_ is not None else ""
    undone = f", undoing event {data.undoes}" if data.undoes is not None else ""
    return f"wrote the memory file {data.note}{moved} ({data.command}{undone})"


@Entry(
    "memory_written",
    says=_written,
    lane="files",
    changes_state=False,
    in_pause=True,
    by="client",
    names_texts=True,
)
class MemoryWritten(Data, frozen=True, gc=False):
    """A write to one file of the memory folder; appended before the file changes."""

    note: NoteId
    """The file's path in the vault; in a folder beside the vaults its path there, after `/memories/`."""
    command: Annotated[MemoryCommand, Redact.PUBLIC]
    client: Annotated[str, Redact.CLIENT]
    """Who asked for it."""
    former_sha256: Sha256 | None = None
    """Names the text before the write; None: there was no such file."""
    text_sha256: Sha256 | None = None
    """Names the text after the write; None: the file goes."""
    from_: NoteId | None = msgspec.field(name="from", default=None)
    """The file's former path, if the write moves it. Then both texts are the same."""
    undoes: Number | None = None
    """The sequence of the write that this one undoes."""


@Entry(
    "memory_write_ended",
    says="ended the write of event {0.write}: {0.outcome}",
    lane="files",
    changes_state=False,
    in_pause=True,
)
class MemoryWriteEnded(Data, frozen=True, gc=False):
    """What became of a write."""

    write: Number
    """The sequence of its `memory_written`."""
    outcome: Annotated[MemoryOutcome, Redact.PUBLIC]
    """`done`: the file is as the write says. `failed`: the write did not touch the file. `unknown`: the daemon
    died within the write, and at the next start the file was neither as before nor as after it."""
