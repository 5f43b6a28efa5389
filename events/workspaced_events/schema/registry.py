"""The registry of event types, entered by catalogue.py and by the files of their subjects beside it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from ..ids import EventId, NoteId, VaultId


class Redact(StrEnum):
    """A field's sensitivity, which decides its treatment in a redacted export (privacy/event_redaction.py).

    Every field has a tag, in an `Annotated` or by its type (event_redaction.TAG_OF_TYPE).
    """

    PUBLIC = "public"
    """Numbers, times and this program's own words: stays."""
    PATH = "path"
    """A note's path."""
    CONTENT = "content"
    """Text or names written by people."""
    CLIENT = "client"
    """The name of a client of the tools, compared case-folded."""
    ID = "id"
    """An identifier: stays if its form shows that a program generated it; otherwise it may hold anything."""
    HASH = "hash"
    """A content's hash, which could confirm a guess."""
    FIELDS = "fields"
    """One or several structs, whose fields have tags of their own."""
    SECRET = "secret"  # noqa: S105 (a tag)
    """Describes the machine or the person, not the workspace."""


Number = Annotated[int, Redact.PUBLIC]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$"), Redact.HASH]


class Data(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The `data` of an action or event."""


class Event(msgspec.Struct, frozen=True, tag_field="type", rename="camel"):
    """What was appended. `time` is UTC with six fractional digits and `Z`, never decreasing along `seq`
    but at `clock_stepped`."""

    seq: Number
    id: EventId
    time: Annotated[str, Redact.PUBLIC]
    source: Annotated[str, Redact.CONTENT]
    vault: VaultId | None

    if TYPE_CHECKING:

        @property
        def data(self) -> Any:
            """A field of each subclass made from the registry, with that subclass's data type."""

    @property
    def type(self) -> str:
        """The type's name on the wire."""
        return str(self.__struct_config__.tag)


class UnknownEvent(Event, frozen=True, tag=False, tag_field=None, rename={"kind": "type"}):
    """An event of a type, or with data, that only a newer version knows: kept, counted, folded as a no-op."""

    kind: str
    data: msgspec.Raw

    @property
    def type(self) -> str:
        return self.kind


Lane = Literal["navigation", "files", "calls", "prompts", "volunteered", "sharing", "log"]
"""What kind of thing an event tells of."""
_D = TypeVar("_D", bound=type[Data])


@dataclass(eq=False, kw_only=True)
class Entry:
    """One row of the catalogue: every fact about a type of event. Decorates the type's data struct."""

    name: str = field(kw_only=False)
    """The type's name on the wire."""
    by_ui: bool = False
    """Whether a UI may publish this type; the daemon may append every type."""
    says: str | Callable[[Any], str]
    """What happened, for people, without who and when: a format of the data (`{0}`), or a function of it."""
    lane: Lane = "navigation"
    changes_state: bool = True
    """True if this type can change the state, and so moves `asOfSeq`."""
    of_vault: bool = True
    """False: it belongs to the workspace, to no vault, so that none needs to be open."""
    in_pause: bool = False
    """Whether it may stand between `pause_started` and `pause_ended`."""
    by: str = ""
    """The field with the client that caused it; empty: the event's source did."""
    brings: str = ""
    """The field with a note that it brings into the state; the other notes that it names go."""
    names_texts: bool = False
    """Whether its hashes are names of the log's texts (projections/conversations.py, `blobs_named`)."""
    erased: Literal["notes", "whole", "parts"] = "notes"
    """How a forgotten note leaves it. `notes`: the fields with notes decide. `whole`: it goes if what people wrote
    in it, or a recording that it names, mentions the note. `parts`: those parts go that mention it
    (privacy/tombstones.py)."""
    may_lack: tuple[str, ...] = ()
    """Of an event erased in parts: the fields with texts that may go alone."""

    data: type[Data] = field(init=False)
    event: Callable[..., Any] = field(init=False)
    """Makes the `Event` from (seq, id, time, source, vault, data)."""
    fields: frozenset[str] = field(init=False)
    """The wire names of the data's fields."""
    notes: tuple[str, ...] = field(init=False)
    """The fields that hold notes."""

    def __call__(self, data: _D) -> _D:
        self.data = data
        self.event = msgspec.defstruct(
            f"{data.__name__}Event",
            [("data", data)],
            bases=(Event,),
            module=__name__,
            tag=self.name,
            frozen=True,
            rename="camel",
        )
        fields = msgspec.structs.fields(data)
        self.fields = frozenset(each.encode_name for each in fields)
        self.notes = tuple(each.name for each in fields if _holds_notes(each.type))
        CATALOGUE[self.name] = ENTRY_OF[data] = self
        return data


record: Final = partial(Entry, changes_state=False, in_pause=True)
"""A row of what the daemon records about itself, or of what began before a pause."""


def _holds_notes(hint: Any) -> bool:
    return hint is NoteId or any(map(_holds_notes, get_args(hint)))


CATALOGUE: Final[dict[str, Entry]] = {}
ENTRY_OF: Final[dict[type[Data], Entry]] = {}


def notes_in(data: Any) -> Iterator[NoteId]:
    """The notes that the fields of an event's data hold; none of data that only a newer version knows."""
    entry = ENTRY_OF.get(type(data))
    for name in entry.notes if entry is not None else ():
        value = getattr(data, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value
