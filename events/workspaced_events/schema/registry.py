"""The registry of event types: what a type is, and how one is entered (catalogue.py, prompt_events.py)."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from ..ids import EventId, VaultId


class Redact(StrEnum):
    """What a field may tell, and so what becomes of it in a redacted export (redact.py).

    Every field has such a tag, in an `Annotated` or by its type (redact.TAG_OF_TYPE).
    """

    PUBLIC = "public"
    """Numbers, times and words of this program: stays."""
    PATH = "path"
    """The path of a note."""
    CONTENT = "content"
    """What people wrote or named."""
    CLIENT = "client"
    """The name of a client of the tools, compared case-folded."""
    ID = "id"
    """An identifier: stays where its form shows that a program made it up, else it may be anything."""
    HASH = "hash"
    """The hash of a content, by which a guess could be confirmed."""
    FIELDS = "fields"
    """A struct, whose fields have tags of their own; or several."""
    SECRET = "secret"  # noqa: S105 (a tag)
    """Says something of the machine or the person, and nothing of the workspace."""


Number = Annotated[int, Redact.PUBLIC]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$"), Redact.HASH]


class Publisher(StrEnum):
    """Who publishes a type. What is a UI's the daemon may append too; what is the daemon's no UI may."""

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
    """Whether an event of this type could change the state, and so moves `asOfSeq`."""
    event: Callable[..., Any]
    """Makes the `Event`: (seq, id, time, source, vault, data)."""
    fields: frozenset[str]
    """Wire names of the data's fields."""

    @property
    def by_ui(self) -> bool:
        """Whether a UI may publish it."""
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
            """A field of the subclasses made from the registry, each of its own type."""

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
    """Registers a data struct under its name on the wire, and makes its event."""

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
