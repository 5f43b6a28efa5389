"""Forgetting a note, event by event: which events tell of it, and what stands in their place.

Nothing is renumbered, since tab ids, `asOfSeq`, clocks and recordings name sequences. An event that tells of the
note becomes a tombstone with the same sequence, time, source and vault; one that tells of others too loses just
that note. What such events did to *other* notes goes on: the active note was left, an order was changed. So the
fold of what remains is the fold of all with the note's entries taken out. With one exception: what the note had
pushed over a limit (ten tabs, fifty recent notes, former paths) is as if it had not been pushed.
What is left of conversations says unsaid.py.

A note is not a path: most notes were called `Untitled.md` once. `Trail` follows the one note through its renames,
so that what other notes did under the same name stays.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from ..ids import EventId, NoteId, VaultId, uuid7
from ..projections.conversations import CONVERSATION_EVENT_TYPES
from ..projections.workspace_fold import apply
from ..projections.workspace_state import EMPTY, VaultState, WorkspaceState
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Event, UnknownEvent
from .conversation_erasure import ConversationEraser, notes_named

_ONE_NOTE: Final = frozenset(data for data in ENTRY_OF if "note" in data.__struct_fields__)
"""Types that tell of one note alone."""


class Trail:
    """Which paths one note of a vault had, and when."""

    def __init__(self, vault: VaultId, note: NoteId) -> None:
        """Of the note that had the path `note` last. `feed` all events, then ask."""
        self.note = note
        """Where that note is at the end."""
        self.mentioned = False
        """Whether any event names the path."""
        self._vault = vault
        self._asked = note
        self._renames: list[tuple[int, NoteId, NoteId]] = []
        self._titles: dict[tuple[NoteId, str, int], int] = {}
        """Each hint of a title between two renames, with a sequence at which it was given."""
        self._spans: tuple[list[int], list[frozenset[NoteId]]] | None = None

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        assert self._spans is None, "asked already"
        for event in events:
            data = event.data
            if event.vault != self._vault or type(event) is UnknownEvent:
                continue
            if type(data) is c.NoteRenamed:
                self._renames.append((event.seq, data.from_, data.to))
                self._follow(data.from_, data.to)
            elif type(data) in _ONE_NOTE and data.note is not None:
                if data.note == self._asked:
                    self.note = self._asked
                self._named(event.seq, data.note, getattr(data, "title", None))
            elif type(data) in CONVERSATION_EVENT_TYPES:
                for path, title in notes_named(data):
                    self._named(event.seq, NoteId(path), title)

    def _named(self, seq: int, path: NoteId, title: str | None) -> None:
        self.mentioned = self.mentioned or path == self._asked
        if title is not None:
            self._titles[path, title, len(self._renames)] = seq

    def _follow(self, old: NoteId, new: NoteId) -> None:
        self.mentioned = self.mentioned or self._asked in (old, new)
        if old in (self.note, self._asked) or new == self._asked:
            self.note = new

    def at(self, seq: int) -> frozenset[NoteId]:
        """The paths under which the note is known right after `seq`: several where another one merged with it."""
        starts, names = self._spans or self._settle()
        return names[bisect_right(starts, seq) - 1]

    def paths(self) -> set[NoteId]:
        """Every path it ever had."""
        _starts, names = self._spans or self._settle()
        return set().union(*names)

    def titles(self) -> set[str]:
        """The hints of its title."""
        return {title for (note, title, _renames), seq in self._titles.items() if note in self.at(seq)}

    def _settle(self) -> tuple[list[int], list[frozenset[NoteId]]]:
        """Goes back from the end: before a rename that led here the note had the other path, too."""
        names = frozenset({self.note})
        spans = []
        for seq, old, new in reversed(self._renames):
            spans.append((seq, names))
            names = names | {old} if new in names else names - {old}
        spans.append((0, names))
        spans.reverse()
        self._spans = ([seq for seq, _names in spans], [each for _seq, each in spans])
        return self._spans


class Forgetting:
    """Events with the note taken out, one after the other from the first on.

    Attributes:
        state: the fold of the events as they were.
        rest: the fold of what was given back.
        changed: how many events were changed or replaced.
    """

    def __init__(
        self, vault: VaultId, trail: Trail, tells: Callable[[Event], bool], unsaid: ConversationEraser
    ) -> None:
        """`tells` says whether the call of a tool, or an event of an unknown type, tells of the note."""
        self._vault = vault
        self._trail = trail
        self._tells = tells
        self._unsaid = unsaid
        self.state: WorkspaceState = EMPTY
        self.rest: WorkspaceState = EMPTY
        self.changed = 0

    def __call__(self, event: Event) -> Event:
        """What stands in the event's place; the event itself where it does not tell of the note."""
        before = self.state.of(self._vault)
        self.state = apply(self.state, event)
        after = self.state.of(self._vault)
        kept = self._kept(event, before, after is not before)
        self.rest = apply(self.rest, kept)
        self.changed += kept is not event
        return kept

    def _kept(self, event: Event, before: VaultState, did_change: bool) -> Event:
        data = event.data
        if type(event) is UnknownEvent or type(data) is c.ToolCalled:
            return _tombstone(event, c.RecordForgotten()) if self._tells(event) else event
        if type(data) in CONVERSATION_EVENT_TYPES:
            rest = self._unsaid(data)
            return _tombstone(event, rest) if rest is not data else event
        if event.vault != self._vault:
            return event
        names = self._trail.at(event.seq)
        note = data.to if type(data) is c.NoteRenamed else data.note if type(data) in _ONE_NOTE else None
        if note in names:
            return _forgotten(event, did_change)
        changed = _without(data, before, names)
        if changed is None:
            return _forgotten(event, did_change)
        kept = _tombstone(event, changed) if changed is not data else event
        if not did_change and apply(self.rest, kept).of(self._vault) is not self.rest.of(self._vault):
            return _forgotten(event, did_change)  # only the note had kept it from doing something
        return kept


def _forgotten(event: Event, did_change: bool) -> Event:
    if not ENTRY_OF[type(event.data)].changes_state:
        return _tombstone(event, c.RecordForgotten())
    if type(event.data) is c.ActiveNoteSet:
        return _tombstone(event, c.EventForgotten("left"))
    return _tombstone(event, c.EventForgotten("updated" if did_change else "none"))


def _tombstone(event: Event, data: c.Data) -> Event:
    """The event with other data. Its id is a new one: publishers make theirs of anything, names too."""
    entry = ENTRY_OF[type(data)]
    made: Event = entry.event(event.seq, EventId(uuid7()), event.time, event.source, event.vault, data)
    return made


def _without(data: Any, before: VaultState, names: frozenset[NoteId]) -> Any:
    """`data` of an event about several notes without `names`; the same if it has none, None if nothing is left.

    `before` is the state that the event met.
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
