"""Events as JSON without what belongs to hidden notes, by the catalogue's tag of each field.

The fields are those that a redacted export hides (`event_redaction`), but only of events that name a hidden note.
A path becomes its pseudonym. Texts, hashes and numbers of what names the note become null, because a length or a
hash tells of a text; sequences, times of the log, ids, clients and this program's own words stay. A new field is
null until it is listed here.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.privacy.event_redaction import GENERATED_ID, TAGS
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event, Redact, UnknownEvent
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.sentences import notes_named, sentence
from workspaced_tools.prompts.model.note_names import NoteNames, notes_of, path_in

from .withheld_notes import WithheldNotes

Json = dict[str, Any]

REASON: Final = "A note is withheld from agents; `workspaced inspect --reveal` shows it."
REVEALING: Final = "`workspaced inspect --reveal` shows withheld notes; a log or bundle shows all that it holds."
REASON_UNKNOWN: Final = "It may name a note that is withheld from agents; `workspaced inspect --reveal` shows it."
_STAYING: Final = frozenset(
    {
        *("as_of_seq", "tail_seq", "from_seq", "limit", "context_window", "output_reserve", "undoes", "write"),
        *("answer_version", "tool", "now"),
    }
)
"""Public fields of hidden events that say nothing of a note: sequences, settings, our own words."""
_GONE: Final = "…"
_ANY_NOTE: Final = "any note.md"
_KEPT_TAGS: Final = frozenset({Redact.CLIENT, Redact.ID})


class Hidden(NamedTuple):
    """What must not show of one event."""

    notes: frozenset[NoteId]
    known: bool = True
    """Whether these are all. If not, the event may name any note."""

    @property
    def number(self) -> int | None:
        return len(self.notes) if self.known else None

    def __bool__(self) -> bool:
        return bool(self.notes) or not self.known

    def __or__(self, other: object) -> "Hidden":
        assert isinstance(other, Hidden)
        return Hidden(self.notes | other.notes, self.known and other.known)


NOTHING: Final = Hidden(frozenset())


class ShownEvent(NamedTuple):
    """An event as a view shows it."""

    event: msgspec.Raw
    """Its JSON: as the log has it, or as `masked`."""
    sentence: str
    """What happened, without who and when; a dot-dot-dot stands for what must not show."""
    notes: list[str]
    """The notes that it names, hidden ones by their pseudonyms."""
    is_masked: bool


def to_json(event: Event) -> Json:
    """An event as the log holds it."""
    known = not isinstance(event, UnknownEvent)
    plain: Json = msgspec.to_builtins(event) if known else msgspec.json.decode(encode_event(event))
    return plain


def names_in(event: Event) -> NoteNames:
    """The notes that the fields of an event name."""
    return NoteNames() if isinstance(event, UnknownEvent) else names_of(event.data)


def hidden_among(notes: WithheldNotes, vault: VaultId | None, names: NoteNames) -> Hidden:
    """What must not show of what has these names."""
    hidden = notes.hidden(vault, names)
    return Hidden(hidden, known=notes.are_answered(vault, hidden))


def masked(event: Event, notes: WithheldNotes, recorded: Hidden = NOTHING) -> Json:
    """The event's JSON without what belongs to hidden notes; the same JSON if it names none.

    `recorded`: what its recording names, of a call or prompt.
    """
    plain = to_json(event)
    if isinstance(event, UnknownEvent):
        return {**plain, "id": _id(event), "data": None, "withheld": _withheld(Hidden(frozenset(), known=False))}
    hidden = _hidden_in(event, notes, recorded)
    if not hidden:
        return plain
    data = _Masking(notes, event.vault, hidden.notes).part(event.data, plain["data"], affected=True)
    if isinstance(event.data, c.ToolCalled):
        data["arguments"] = {"withheld": hidden.number}
    return {**plain, "id": _id(event), "data": data, "withheld": _withheld(hidden)}


def shown(event: Event, notes: WithheldNotes | None, recorded: Hidden = NOTHING) -> ShownEvent:
    """The event as a view shows it; `notes` None: whole. `recorded` as of `masked`."""
    if notes is None or not (isinstance(event, UnknownEvent) or _hidden_in(event, notes, recorded)):
        return ShownEvent(msgspec.Raw(encode_event(event)), sentence(event), notes_named(event), False)
    plain = masked(event, notes, recorded)
    stand_in = event
    if not isinstance(event, UnknownEvent):
        stand_in = replace(event, data=_stand_in(event.data, plain["data"]))
    return ShownEvent(msgspec.Raw(msgspec.json.encode(plain)), sentence(stand_in), notes_named(stand_in), True)


def _hidden_in(event: Event, notes: WithheldNotes, recorded: Hidden) -> Hidden:
    return hidden_among(notes, event.vault, names_in(event)) | recorded


def _stand_in(struct: msgspec.Struct, plain: Json) -> Any:
    """The struct with what its masked JSON holds, and with _GONE where that is null: only to be told of."""
    values: Json = {}
    for name, wire in _wire_names(type(struct)):
        value = getattr(struct, name)
        if value is None or wire not in plain:
            continue
        masked_value = plain[wire]
        if isinstance(value, msgspec.Struct):
            values[name] = _stand_in(value, masked_value)
        elif TAGS[type(struct)][name] is Redact.FIELDS:
            values[name] = tuple(map(_stand_in, value, masked_value))
        else:
            values[name] = _GONE if masked_value is None else masked_value
    if isinstance(struct, c.ToolCalled):
        values |= {"arguments": {}, "arguments_sha256": _GONE}
    return replace(struct, **values)


def _id(event: Event) -> str | None:
    """The id of a hidden event: a publisher's own may hold anything, even names."""
    return event.id if GENERATED_ID.fullmatch(event.id) else None


def _withheld(hidden: Hidden) -> Json:
    return {"notes": hidden.number, "reason": REASON if hidden.known else REASON_UNKNOWN}


class _Masking:
    def __init__(self, notes: WithheldNotes, vault: VaultId | None, hidden: frozenset[NoteId]) -> None:
        self._notes = notes
        self._vault = vault
        self._hidden = hidden

    def part(self, struct: msgspec.Struct, plain: Json, *, affected: bool) -> Json:
        """The JSON of a struct. `affected`: it names a hidden note, or stands beside one that does."""
        shown = dict(plain)
        for name, wire in _wire_names(type(struct)):
            value, tag = getattr(struct, name), TAGS[type(struct)][name]
            if wire not in plain or value is None:
                continue
            if tag is Redact.FIELDS:
                shown[wire] = self._parts(value, plain[wire], affected=affected)
            elif name in _note_fields(type(struct)):
                shown[wire] = self._path(value) if isinstance(value, str) else [self._path(each) for each in value]
            elif affected and name == "id" and tag is Redact.CONTENT:
                shown[wire] = self._address(value)
            elif affected and not (tag in _KEPT_TAGS or name in _STAYING or _is_word(type(struct), name)):
                shown[wire] = None
        return shown

    def _parts(self, value: Any, plain: Any, *, affected: bool) -> Any:
        if isinstance(value, tuple):
            return [self._inner(each, one, affected=affected) for each, one in zip(value, plain, strict=True)]
        return self._inner(value, plain, affected=affected)

    def _inner(self, struct: msgspec.Struct, plain: Json, *, affected: bool) -> Json:
        if _names_notes(type(struct)):  # an attachment or block stands for itself
            affected = not self._hidden.isdisjoint(names_of(struct).every)
        return self.part(struct, plain, affected=affected)

    def _path(self, note: str) -> str:
        return self._notes.pseudonym(self._vault, NoteId(note)) if note in self._hidden else note

    def _address(self, text: str) -> str | None:
        """The id of an attachment: the note's pseudonym, without the part of the note."""
        for each in (text, path_in(text)):
            if each in self._hidden:
                return self._notes.pseudonym(self._vault, NoteId(each))
        return None


# -- what the catalogue says of a struct --


def names_of(struct: msgspec.Struct) -> NoteNames:
    """The notes that the fields of an event's data name."""
    names = NoteNames()
    fields = _note_fields(type(struct))
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if value is None:
            continue
        if name in fields:
            paths: Iterable[NoteId] = (NoteId(value),) if isinstance(value, str) else value
            names |= NoteNames(frozenset(path for path in paths if is_in_vault(path)))
        elif TAGS[type(struct)][name] is Redact.FIELDS:
            for part in value if isinstance(value, tuple) else (value,):
                names |= names_of(part)
        elif TAGS[type(struct)][name] is Redact.PATH:
            names |= _in_folder(value)
    if isinstance(struct, c.ContextUnpinned):
        return names | notes_of("note", struct.id)
    kind, of = getattr(struct, "kind", None), getattr(struct, "id", "")
    if kind == "folder":
        names |= _in_folder(of)
    return names | notes_of("note" if kind == "pin" else kind, of) if kind is not None else names


def _in_folder(folder: str) -> NoteNames:
    """A folder, by a note that it might hold: a rule that withholds the folder denies every path in it."""
    return NoteNames(perhaps=notes_of("note", f"{folder.strip('/')}/{_ANY_NOTE}").every)


def is_in_vault(path: str) -> bool:
    """Not a file in a memory folder beside the vaults: agents wrote that, so nothing withholds it."""
    return not path.startswith(c.BESIDE_VAULTS)


@cache
def _wire_names(struct: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(struct))


@cache
def _note_fields(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The fields whose type is a note's path, or several."""
    return frozenset(name for name, hint in get_type_hints(struct).items() if NoteId in (hint, *_within(hint)))


@cache
def _is_word(struct: type[msgspec.Struct], name: str) -> bool:
    """Whether a field holds one of this program's own words, or yes or no."""
    hints = get_type_hints(struct, include_extras=True)
    return TAGS[struct][name] is Redact.PUBLIC and not {int, str} & {hints[name], *_within(hints[name])}


def _names_notes(struct: type[msgspec.Struct]) -> bool:
    return bool(_note_fields(struct)) or {"kind", "id"} <= set(struct.__struct_fields__)


def _within(hint: Any) -> list[Any]:
    """All types inside a type."""
    return [found for part in get_args(hint) for found in (part, *_within(part))]
