"""What a turn's user message held when it was sent, part by part, so that later prompts can repeat it.

The parts stand in the order sent. Pins are blocks of their own, then comes one text of all other parts, then the
images. A part says what it shows: of what, in which revision, and whether whole or as changes to another revision.
"""

from typing import Final, Literal, TypeVar, cast

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.schema.catalogue import LeftOut, PartKind

from ...ports.base import Wire

SENT_VERSION: Final = 1
PIN: Final[PartKind] = "pin"
"""The kind of the parts that pinned providers gave."""
CHANGES: Final[PartKind] = "changes"
"""The kind of the line that names notes which have changed since they were shown."""
FRAME: Final = "frame"
VERSIONED: Final = frozenset({"note", "url", "pdf", "file", "dataview", PIN})
"""Kinds of which one id is one thing, in the version that was shown last. Of other kinds each text is a thing."""
Key = tuple[str, ...]
"""The thing that a part shows: its kind and id, and for kinds that are not VERSIONED its revision."""


_Kind = TypeVar("_Kind", bound=str)


def library_kind(kind: _Kind) -> _Kind | Literal["note"]:
    """The kind without the difference that only a turn makes: an active note is a note."""
    return "note" if kind == "active_note" else kind


def key_of(kind: str, id: str, revision: str) -> Key:  # noqa: A002 (as in the structs)
    kind = library_kind(kind)
    return (kind, id) if kind in VERSIONED else (kind, id, revision)


class SentPart(Wire, frozen=True):
    kind: str
    """An ArtifactKind, PIN, CHANGES, `frame` or `query`."""
    id: str
    text: str
    """Empty for an image's bytes, and where nothing had to be said."""
    tokens: int = 0
    """Before calibration."""
    revision: str = ""
    """What the model knows of the thing after this part: the blob of a text, of a pin's text, of an image."""
    base: str = ""
    """The revision that the part points to (if it is `revision`) or changes: it must stand above."""
    title: str = ""
    """An artifact's; `mtime` likewise."""
    mtime: str | None = None
    failed: str | None = None
    """Why a pin or an attachment could not be read, or why nothing stands for a part that is left out."""
    form: str = ""
    """`left_out` for a line that stands for a part."""
    media_type: str | None = None
    """An image's; `bytes` likewise."""
    bytes: int = 0
    notes: tuple[NoteId, ...] = ()
    """The notes whose names or texts the part holds, and the files of their images."""
    reported: tuple[tuple[str, str], ...] = ()
    """CHANGES: id and state of each note that the line names."""

    @property
    def key(self) -> Key:
        return key_of(self.kind, self.id, self.revision)

    def left_out_of(self, turn: MessageId, why: Literal["withheld", "gone"] | None = None) -> LeftOut:
        """The record that the part, which no frame and no words are, has left its turn."""
        return LeftOut(turn, cast(PartKind, self.kind), self.id, why)

    @property
    def is_whole(self) -> bool:
        """Whether the part shows its revision whole, so that later parts may refer to it."""
        return bool(self.revision) and not self.base

    @property
    def is_image(self) -> bool:
        return self.media_type is not None


class SentTurn(Wire, frozen=True):
    """The blob that `prompt_assembled.turnSha256` names."""

    version: int
    parts: tuple[SentPart, ...]
