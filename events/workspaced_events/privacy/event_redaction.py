"""Redaction: makes events fit to give away, by the catalogue's tag of each field.

A redacted log folds to the same state as the log, under pseudonyms (pseudonyms.py). It still shows the number and
types of events, their sequences and times, sizes and times of files, line numbers and durations, because a bug is
found by these; and of each text the punctuation and the lengths, case and equality of its words.

Anything not known to be harmless goes: a field without a tag raises TypeError, and an event with an unknown type
or unknown data keeps only the structure of its data.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from ..ids import ConversationId, EventId, LinkedVaultId, MessageId, NoteId, OriginId, TabId, VaultId
from ..limits import SHARING_CLIENT_CHARS_MAX
from ..projections.workspace_state import client_key
from ..schema.catalogue import CATALOGUE, Event, Redact, UnknownEvent
from .pseudonyms import Pseudonyms

TAG_OF_TYPE: Final[dict[Any, Redact]] = {
    NoteId: Redact.PATH,
    VaultId: Redact.CONTENT,  # derived from the folder's name
    TabId: Redact.ID,
    EventId: Redact.ID,
    ConversationId: Redact.ID,
    MessageId: Redact.ID,
    OriginId: Redact.ID,
    LinkedVaultId: Redact.ID,
    bool: Redact.PUBLIC,
}
"""Types with the same tag in every field; a `Literal` is public too, because its values are our words."""

GENERATED_ID: Final = re.compile(
    r"tab-[0-9]{1,19}|[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
"""Ids of tabs, and UUIDs from random bits or the time; other UUIDs may hold a machine's address or a hash."""


def tags(struct: type[msgspec.Struct]) -> dict[str, Redact]:
    """The tag of each field.

    Raises:
        TypeError: a field has no tag, or several.
    """
    hints = get_type_hints(struct, include_extras=True)
    tag_of = {}
    for name in struct.__struct_fields__:
        tag = _tags_in(hints[name])
        if len(tag) != 1:
            raise TypeError(f"Expected one tag of `Redact` on {struct.__name__}.{name}, got {len(tag)}")
        (tag_of[name],) = tag
    return tag_of


def _tags_in(hint: Any) -> set[Redact]:
    if get_origin(hint) is Literal:
        return {Redact.PUBLIC}
    if hint in TAG_OF_TYPE:
        return {TAG_OF_TYPE[hint]}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return {Redact.FIELDS}
    direct = {each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Redact)}
    return direct or {tag for part in get_args(hint) for tag in _tags_in(part)}


def _structs_in(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs inside a value of that type."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
        parts: Iterable[Any] = get_type_hints(hint).values()
    else:
        parts = get_args(hint)
    for part in parts:
        yield from _structs_in(part)


_ENVELOPE: Final = tags(Event)
TAGS: Final = {struct: tags(struct) for entry in CATALOGUE.values() for struct in _structs_in(entry.data)}
"""The tags of each data struct's fields, and of the structs inside."""


class Redactor:
    """Redacts events under one key. Not thread-safe."""

    def __init__(self, pseudonyms: Pseudonyms, argument_names: Collection[str] = ()) -> None:
        """
        Args:
            pseudonyms: replace the redacted values.
            argument_names: the tools' argument names. In `tool_called` these names and their numbers stay; all
                other names are redacted, because a refused call may hold anything.
        """
        self._text = pseudonyms.text
        self._argument_names = argument_names
        self._treatments: dict[Redact, Callable[[Any], Any]] = {
            Redact.PATH: self._text,
            Redact.CONTENT: self._text,
            Redact.CLIENT: self._client,
            Redact.ID: self._id,
            Redact.HASH: pseudonyms.digest,
            Redact.SECRET: pseudonyms.secret,
            Redact.FIELDS: self._part,
        }

    def event(self, event: Event) -> Event:
        if isinstance(event, UnknownEvent):
            data: Any = msgspec.Raw(msgspec.json.encode(self._unknown_data(event.data)))
        else:
            data = replace(event.data, **self._fields(event.data, TAGS[type(event.data)]))
        return replace(event, data=data, **self._fields(event, _ENVELOPE))

    def _fields(self, struct: msgspec.Struct, tagged: dict[str, Redact]) -> dict[str, Any]:
        return {
            name: self._value(self._treatments[tag], getattr(struct, name))
            for name, tag in tagged.items()
            if tag is not Redact.PUBLIC
        }

    def _part(self, struct: msgspec.Struct) -> msgspec.Struct:
        return replace(struct, **self._fields(struct, TAGS[type(struct)]))

    def _value(self, treat: Callable[[Any], Any], value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, str | msgspec.Struct):
            return treat(value)
        if isinstance(value, tuple):
            return tuple(treat(each) for each in value)
        assert isinstance(value, dict), "only text, texts and the arguments of tools need redaction"
        return self._arguments(value)

    def _client(self, name: str) -> str:
        # The key comes first, so that equal clients get one pseudonym; it may be longer than the name, or empty.
        return self._text(client_key(name) or name)[:SHARING_CLIENT_CHARS_MAX]

    def _id(self, text: str) -> str:
        return text if GENERATED_ID.fullmatch(text) else self._text(text)

    # -- JSON of any form --

    def _arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return dict(self._argument(name, value) for name, value in arguments.items())
        except RecursionError:
            return {}

    def _argument(self, name: str, value: Any) -> tuple[str, Any]:
        if name not in self._argument_names:
            return self._text(name), self._unknown(value)
        return name, value if isinstance(value, int | float) else self._unknown(value)

    def _unknown_data(self, data: msgspec.Raw) -> Any:
        try:
            return self._unknown(msgspec.json.decode(data))
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return {}

    def _unknown(self, value: Any) -> Any:
        """The same structure with pseudonyms for texts and keys; numbers become 0, because they may identify."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key): self._unknown(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._unknown(each) for each in value]
        return value if value is None or isinstance(value, bool) else 0
