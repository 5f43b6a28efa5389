"""Erases a note event by event: finds the events that mention it and builds their replacements.

Sequences stay, because tab ids, `asOfSeq`, clocks and recordings name them. An event about the note becomes a
tombstone with the same sequence, time, source and vault; an event about several notes loses only this one. Effects
on *other* notes stay: the active note was left, an order was changed. So the remaining events fold to the full
state minus the note's entries, with one exception: entries that the note pushed over a limit (ten tabs, fifty
recent notes, former paths) come back. For conversations see `ConversationEraser`.

A note is not a path: most notes were once called `Untitled.md`. `Trail` follows the one note through its renames,
so that the events of other notes under the same name stay.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..ids import ConversationId, EventId, LinkedVaultId, NoteId, VaultId, uuid7
from ..peers.without_notes import names_in, without_notes
from ..projections.conversations import FORGOTTEN
from ..projections.workspace_fold import apply
from ..projections.workspace_state import EMPTY, VaultState, WorkspaceState
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Data, Event, UnknownEvent

_ONE_NOTE: Final = frozenset(data for data in ENTRY_OF if "note" in data.__struct_fields__)
"""Types about exactly one note."""


class Trail:
    """The paths of one note in a vault, and when it had them."""

    def __init__(self, vault: VaultId, note: NoteId) -> None:
        """Follows the note whose last path was `note`. Call `feed` with all events before any query."""
        self.note = note
        """The note's path at the end."""
        self._mentioned = False
        self._vault = vault
        self._asked = note
        self._renames: list[tuple[int, NoteId, NoteId]] = []
        self._titles: dict[tuple[NoteId, str, int], int] = {}
        """The title hints between two renames, each with the sequence of an event that gave it."""
        self._spans: tuple[list[int], list[frozenset[NoteId]]] | None = None
        self.linked: set[LinkedVaultId] = set()
        """What links have called the vault. Peers share it before it is mapped here, so it is known at the end."""
        self._named_by_peers: set[LinkedVaultId] = set()

    @property
    def mentioned(self) -> bool:
        """Whether any event names the path."""
        return self._mentioned or not self.linked.isdisjoint(self._named_by_peers)

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        assert self._spans is None, "asked already"
        for event in events:
            data = event.data
            if type(data) is c.LinkChanged:
                self.linked |= {each.linked for each in data.vaults if each.vault == self._vault}
            elif type(data) is c.RemoteEventsApplied:
                self._named_by_peers |= {vault for vault, note in names_in(data) if note == self._asked}
            if type(event) is UnknownEvent or not _concerns(event, self._vault):
                continue
            if type(data) is c.NoteRenamed:
                self._moved(event.seq, data.from_, data.to)
            elif type(data) is c.MemoryWritten and data.from_ is not None:
                self._moved(event.seq, data.from_, data.note)
            elif type(data) in _ONE_NOTE and data.note is not None:
                if data.note == self._asked:
                    self.note = self._asked
                self._named(event.seq, data.note, getattr(data, "title", None))
            elif ENTRY_OF[type(data)].erased == "parts":
                for path, title in notes_named(data):
                    self._named(event.seq, NoteId(path), title)

    def _named(self, seq: int, path: NoteId, title: str | None) -> None:
        self._mentioned = self._mentioned or path == self._asked
        if title is not None:
            self._titles[path, title, len(self._renames)] = seq

    def _moved(self, seq: int, old: NoteId, new: NoteId) -> None:
        self._renames.append((seq, old, new))
        self._follow(old, new)

    def _follow(self, old: NoteId, new: NoteId) -> None:
        self._mentioned = self._mentioned or self._asked in (old, new)
        if old in (self.note, self._asked) or new == self._asked:
            self.note = new

    def at(self, seq: int) -> frozenset[NoteId]:
        """The note's paths right after `seq`; several if another note merged with it."""
        starts, names = self._spans or self._compute_spans()
        return names[bisect_right(starts, seq) - 1]

    def until(self, seq: int) -> frozenset[NoteId]:
        """The paths that the note had up to an event."""
        starts, names = self._spans or self._compute_spans()
        return frozenset().union(*names[: bisect_right(starts, seq)])

    def paths(self) -> set[NoteId]:
        """Every path the note ever had."""
        _starts, names = self._spans or self._compute_spans()
        return set().union(*names)

    def titles(self) -> set[str]:
        """The hints of the note's title."""
        return {title for (note, title, _renames), seq in self._titles.items() if note in self.at(seq)}

    def _compute_spans(self) -> tuple[list[int], list[frozenset[NoteId]]]:
        """Computes the note's paths backwards: before a rename to one of them, it also had the old path."""
        names = frozenset({self.note})
        spans = []
        for seq, old, new in reversed(self._renames):
            spans.append((seq, names))
            names = names | {old} if new in names else names - {old}
        spans.append((0, names))
        spans.reverse()
        self._spans = ([seq for seq, _names in spans], [each for _seq, each in spans])
        return self._spans


class NoteEraser:
    """Removes the note from events, which it must get in order from the log's first.

    Attributes:
        state: the fold of the original events.
        rest: the fold of the returned events.
        changed: the number of changed or replaced events.
    """

    def __init__(
        self,
        vault: VaultId,
        trail: Trail,
        mentions_note: Callable[[Event], bool],
        conversation_eraser: "ConversationEraser",
    ) -> None:
        """`mentions_note`: whether an event that is erased whole, or of an unknown type, mentions the note."""
        self._vault = vault
        self._trail = trail
        self._mentions_note = mentions_note
        self._conversation_eraser = conversation_eraser
        self.state: WorkspaceState = EMPTY
        self.rest: WorkspaceState = EMPTY
        self.changed = 0
        self._touched: set[int] = set()
        """The sequences of the prompts and calls that mentioned the note."""

    def __call__(self, event: Event) -> Event:
        """The event to put in place of `event`; the same object if it does not mention the note."""
        before = self.state.of(self._vault)
        self.state = apply(self.state, event)
        after = self.state.of(self._vault)
        remaining = self._without_note(event, before, after is not before)
        self.rest = apply(self.rest, remaining)
        self.changed += remaining is not event
        if remaining is not event:
            self._touched.add(event.seq)
        return remaining

    def _without_note(self, event: Event, before: VaultState, did_change: bool) -> Event:
        data = event.data
        if type(event) is UnknownEvent or ENTRY_OF[type(data)].erased == "whole":
            # What a right answer says may stand in the note.
            is_of_note = getattr(data, "of", None) in self._touched or self._mentions_note(event)
            return _tombstone(event, c.RecordForgotten()) if is_of_note else event
        if ENTRY_OF[type(data)].erased == "parts":
            rest = self._conversation_eraser(data)
            return _tombstone(event, rest) if rest is not data else event
        if type(data) is c.RemoteEventsApplied:
            left = without_notes(data, self._trail.linked, self._trail.paths())
            return _tombstone(event, left) if left is not data else event
        if not _concerns(event, self._vault):
            return event
        names = self._trail.at(event.seq)
        note = data.to if type(data) is c.NoteRenamed else data.note if type(data) in _ONE_NOTE else None
        if isinstance(data, c.NoteShown | c.NoteWithheld):  # recorded some time after they were found
            names = self._trail.until(event.seq)
        if note in names:
            return _forgotten(event, did_change)
        if type(data) is c.VaultOpened:
            # Globs are settings and follow no rename: any path that the note ever had goes.
            paths = self._trail.paths()
            files = tuple(glob for glob in data.files if _spelled_out(glob) not in paths)
            data = replace(data, files=files) if len(files) < len(data.files) else data
        changed = _without(data, before, names)
        if changed is None:
            return _forgotten(event, did_change)
        kept = _tombstone(event, changed) if changed is not event.data else event
        if not did_change and apply(self.rest, kept).of(self._vault) is not self.rest.of(self._vault):
            return _forgotten(event, did_change)  # without the note the event would now have an effect
        return kept


def _concerns(event: Event, vault: VaultId) -> bool:
    """Whether an event may be about a note of the vault, or about a file beside all vaults."""
    data = event.data
    return event.vault == vault or (type(data) is c.MemoryWritten and data.note.startswith(c.BESIDE_VAULTS))


def _forgotten(event: Event, did_change: bool) -> Event:
    if not ENTRY_OF[type(event.data)].changes_state:
        return _tombstone(event, c.RecordForgotten())
    if type(event.data) is c.ActiveNoteSet:
        return _tombstone(event, c.EventForgotten("left"))
    return _tombstone(event, c.EventForgotten("updated" if did_change else "none"))


def _tombstone(event: Event, data: c.Data) -> Event:
    """The event with other data and a new id, because a publisher's id may contain anything, even names."""
    entry = ENTRY_OF[type(data)]
    tombstone: Event = entry.event(event.seq, EventId(uuid7()), event.time, event.source, event.vault, data)
    return tombstone


def _spelled_out(glob: str) -> str:
    """The path that a glob without wildcards names, in gitignore's syntax."""
    path = re.sub(r"\\(.)", r"\1", glob.removeprefix("!"))
    return unicodedata.normalize("NFC", path).removeprefix("**/").removeprefix("/").rstrip(" ")


def _without(data: Any, before: VaultState, names: frozenset[NoteId]) -> Any:
    """`data` of an event about several notes, without `names`; the same object if it has none of them, None if
    nothing remains. `before` is the state before the event.
    """
    if type(data) is c.NotePinned and data.index is not None:
        ahead = sum(note in names for note in list(before.pins)[: data.index])
        return replace(data, index=data.index - ahead) if ahead else data
    if type(data) is c.PinnedNotesReordered and not names.isdisjoint(data.notes):
        rest = tuple(note for note in data.notes if note not in names)
        return replace(data, notes=rest) if rest else None
    tabs = {tab.id for tab in before.tabs.values() if tab.note_id in names}
    if type(data) is c.TemporaryTabClosed and data.tab_id in tabs:
        return None
    if type(data) in (c.TemporaryTabsReordered, c.TemporaryTabsExpired) and not tabs.isdisjoint(data.tab_ids):
        ids = tuple(tab_id for tab_id in data.tab_ids if tab_id not in tabs)
        return replace(data, tab_ids=ids) if ids else None
    return data


_IN_A_NOTE: Final = ("selected_text", "dataview")
"""Kinds whose ids are a note's path, `#` and a part of the note."""


class ConversationEraser:
    """Removes a note from conversation events, which it must get in order from the log's first.

    A part of a message that mentions the note goes (its text, an attachment, a call, a result); the other parts
    keep their places, the message its id and role. Blocks of the note leave the library, and a pin of the note
    becomes its removal. An answer that repeats the note's content without naming the note is not found.

    After that, no later prompt of the conversation can be rebuilt byte for byte. So the events of these prompts
    keep their effect on the conversation, and name FORGOTTEN instead of their inputs and results. A turn that was
    sent with something of the note is no longer repeated as it was sent.
    """

    def __init__(self, mentions_note: Callable[[Any], bool]) -> None:
        """`mentions_note`: whether a struct or text mentions the note, itself or through a blob it names."""
        self._mentions_note = mentions_note
        self._cut: set[ConversationId | None] = set()
        """Conversations with an erased part."""

    def __call__(self, data: Any) -> Data:
        """The data to put in place of `data`; the same object if it does not mention the note."""
        changed: dict[str, Any] = {}
        may_lack = ENTRY_OF[type(data)].may_lack
        for name in data.__struct_fields__:
            value = getattr(data, name)
            if isinstance(value, tuple):
                staying = tuple(each for each in value if not self._mentions_note(each))
                if len(staying) < len(value):
                    changed[name] = staying
            elif name in may_lack and value is not None and self._mentions_note(value):
                changed[name] = None
        remaining: Data = replace(data, **changed) if changed else data
        if isinstance(data, c.ContextPinned) and self._mentions_note(remaining):
            remaining = c.ContextUnpinned(conversation=data.conversation, id=data.id)
        conversation = getattr(data, "conversation", None)
        if remaining is not data:
            self._cut.add(conversation)
        if isinstance(remaining, c.PromptAssembled) and (
            conversation in self._cut or self._mentions_note(remaining)
        ):
            remaining = replace(
                remaining,
                inputs_sha256=FORGOTTEN,
                manifest_sha256=FORGOTTEN,
                layer_hashes=c.LayerHashes(*[FORGOTTEN] * len(c.LayerHashes.__struct_fields__)),
                combined_hash=FORGOTTEN,
            )
            if remaining.turn_sha256 is not None and self._mentions_note(remaining.turn_sha256):
                remaining = replace(remaining, turn_sha256=None)
        if self._mentions_note(remaining):
            self._cut.add(conversation)
            return c.RecordForgotten()
        return remaining


def notes_named(data: Any) -> Iterator[tuple[str, str | None]]:
    """The note paths that a conversation event names or may name, each with a title hint."""
    if isinstance(data, c.MessageData):
        for each in data.attachments:
            yield _note_of(each.kind, each.id), each.title
    elif isinstance(data, c.ArtifactRecorded):
        yield _note_of(data.kind, data.id), None
    elif isinstance(data, c.ContextPinned) and data.path is not None:
        yield data.path, None


def _note_of(kind: c.AttachmentKind, artifact: str) -> str:
    return artifact.rpartition("#")[0] or artifact if kind in _IN_A_NOTE else artifact
