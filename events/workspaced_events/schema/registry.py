"""The registry of event types (entered by catalogue.py and conversation_events.py)."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from ..ids import EventId, VaultId


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


class Publisher(StrEnum):
    """Who may publish a type. The daemon may append UI types too; a UI may not publish daemon types."""

    UI = "U"
    DAEMON = "D"
    BOTH = "UD"


class Data(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The `data` of an action or event."""


class Entry(msgspec.Struct, frozen=True):
    """One row of the catalogue."""

    name: str
    data: type[Data]
    publisher: Publisher
    changes_state: bool
    """True if this type can change the state, and so moves `asOfSeq`."""
    event: Callable[..., Any]
    """Makes the `Event` from (seq, id, time, source, vault, data)."""
    fields: frozenset[str]
    """The wire names of the data's fields."""

    @property
    def by_ui(self) -> bool:
        """Whether a UI may publish this type."""
        return self.publisher is not Publisher.DAEMON


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


CATALOGUE: dict[str, Entry] = {}
_D = TypeVar("_D", bound=type[Data])


def entry(name: str, publisher: Publisher, *, changes_state: bool = True) -> Callable[[_D], _D]:
    """Registers a data struct under its wire name and makes its event struct."""

    def register(data: _D) -> _D:
        event = msgspec.defstruct(
            f"{data.__name__}Event",
            [("data", data)],
            bases=(Event,),
            module=__name__,
            tag=name,
            frozen=True,
            rename="camel",
        )
        fields = frozenset(field.encode_name for field in msgspec.structs.fields(data))
        CATALOGUE[name] = Entry(name, data, publisher, changes_state, event, fields)
        return data

    return register
