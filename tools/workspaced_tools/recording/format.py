"""The stored form of a recording: what a call read, question by question; and how it is read from a blob."""

from collections.abc import Callable, Container
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import LogDamaged, WorkspacedError
from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.schema.catalogue import Sharing, ToolCalled

from ..errors import NotKept, NotRecorded
from ..notes.note import NoteFailure, StatKey
from ..ports.questions import Question
from ..ports.vault import ImageFailure

VERSION: Final = 1
Blob = Callable[[str], bytes | None]
"""The content of a blob, or None if it is not kept."""


SWEPT: Final = (
    "It was swept to keep the store within record_bytes and record_days, forgotten with a note, or lost with the "
    "power."
)


class RecordedNote(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="note", tag_field="is"):
    """A version of a note whose text is a blob."""

    id: NoteId
    stat: StatKey
    birth_ns: int | None
    sha256: str
    """Of the file's bytes."""
    text: str
    """The name of the blob: the sha256 of the text that the call read."""
    warnings: tuple[str, ...] = ()
    pages: int | None = None


class RecordedName(msgspec.Struct, frozen=True, tag="name", tag_field="is"):
    """A note of which the client sees only the title."""

    id: NoteId
    title: str


RecordedRead = RecordedNote | RecordedName | NoteFailure
"""What reading one note gave."""


class RecordedVersion(msgspec.Struct, frozen=True):
    """A `VersionAt`."""

    seq: int
    at: str
    note: msgspec.Raw
    """A `RecordedRead`."""


class RecordedImage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="image", tag_field="is"):
    """A `NoteImage` whose content is a blob."""

    path: str
    media_type: str
    sha256: str
    """The name of the blob."""
    width: int | None = None
    height: int | None = None
    scaled: bool = False


class RecordedImages(msgspec.Struct, frozen=True):
    """A `NoteImages`."""

    images: tuple[RecordedImage | ImageFailure, ...]
    total: int


class Raised(msgspec.Struct, frozen=True):
    """The error that the View raised instead of an answer.

    `type` is the name of the error's class; for an error that is not a `WorkspacedError` it is `Exception`.
    """

    type: str
    message: str
    hint: str = ""
    details: dict[str, Any] = {}


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question and its answer, both as JSON."""

    ask: str
    """The question's `name`."""
    question: msgspec.Raw
    """The question's fields as an array."""
    answer: msgspec.Raw = msgspec.Raw(b"null")
    """For `Read` a list of `RecordedRead`; for `Images` a `RecordedImages`; for `Visits` the positions of the
    notes whose visits were withheld."""
    raised: Raised | None = None


class Repeats(msgspec.Struct, frozen=True):
    """The call whose stored answer was given again."""

    log: str
    seq: int


class Recording(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What one call read through its View."""

    version: int
    caller: str = ""
    """The client's name."""
    refused: Raised | None = None
    """Why the call ran no tool. A refused call has no other fields than these."""
    level: Sharing = "all"
    served: bool = True
    """Whether the current vault's folder was served."""
    withheld: int = 0
    left_out: dict[str, tuple[int, ...]] = {}
    """The entries that the share policy withheld, as positions in the lists of the vault's state."""
    last_updated: str | msgspec.UnsetType | None = msgspec.UNSET
    """What the tool saw instead of the `last_updated` of the vault's state. Unset: that one."""
    asked: tuple[Exchange, ...] = ()
    also_at: tuple[int, ...] = ()
    repeats: Repeats | None = None
    """The answer is that of another log's call, whose recording this is; no tool ran. None: a tool ran."""


class ResultHead(msgspec.Struct, frozen=True):
    """How a call came out, in the JSON of its result."""

    success: bool
    code: str | None = None


def refused(error: Raised, caller: str) -> bytes:
    """The JSON of the `Recording` of a refused call."""
    return msgspec.json.encode(Recording(version=VERSION, caller=caller, refused=error))


def question_json(question: Question[Any]) -> bytes:
    """A question's fields as a recording holds them.

    Two questions are equal if and only if their names and these bytes are equal.
    """
    return msgspec.json.encode(question)


VAULT_LISTS: Final = ("pins", "tabs", "recents", "archived", "former")
"""The fields of a `VaultState` that list notes."""
VAULT_SINGLES: Final = ("active", "selection")
"""The fields of a `VaultState` that name one note."""


def positions_left_out(full: dict[NoteId, Any], shown: Container[NoteId]) -> tuple[int, ...]:
    """The positions in `full` of the notes that are not in `shown`."""
    return tuple(position for position, note in enumerate(full) if note not in shown)


def shown_of(state: VaultState, recording: Recording) -> VaultState:
    """What the tool of a recorded call saw of its vault's state."""
    left_out = recording.left_out
    changed: dict[str, Any] = dict.fromkeys(VAULT_SINGLES & left_out.keys())
    if recording.last_updated is not msgspec.UNSET:
        changed["last_updated"] = recording.last_updated
    for name in VAULT_LISTS:
        if gone := set(left_out.get(name, ())):
            items = getattr(state, name).items()
            changed[name] = {note: value for at, (note, value) in enumerate(items) if at not in gone}
    return replace(state, **changed) if changed else state


def raised(error: Exception) -> Raised:
    """The error as a value, without its traceback, which would keep the call's notes in memory."""
    if not isinstance(error, WorkspacedError):
        return Raised("Exception", type(error).__name__)
    return Raised(type(error).__name__, error.message, error.hint, error.details)


def read_recording(content: bytes, name: str) -> Recording:
    """Decodes the recording in a blob.

    Raises:
        LogDamaged: the blob holds no recording.
        NotRecorded: the recording has a newer version.
    """
    try:
        recording = msgspec.json.decode(content, type=Recording)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {name} is no recording of a call: {error}.") from None
    if recording.version > VERSION:
        raise NotRecorded(
            f"The recording is of version {recording.version}; this program reads up to {VERSION}",
            hint="Use a newer workspaced.",
        )
    return recording


def arguments_of(called: ToolCalled, blob: Blob) -> dict[str, Any]:
    """The arguments of a recorded call.

    Raises:
        NotRecorded: the arguments are in a blob that is not kept.
        LogDamaged: the blob holds no arguments.
    """
    name = called.arguments_sha256
    if name is None:
        return called.arguments
    content = blob(name)
    if content is None:
        raise NotKept("The arguments are not kept", hint=SWEPT)
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {name} holds no arguments: {error}.") from None
