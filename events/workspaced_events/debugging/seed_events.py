"""The prelude of a part of a log: events that lead from nothing to the state in which the part begins.

They stand for what really happened, of which only the state is known. What they lead to is the same for whoever
reads it as JSON, but for `seq`, `lastUpdated` and the numbers of tabs; former paths are not in it.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from ..ids import EventId, NoteId, VaultId
from ..projections.workspace_state import VaultState, WorkspaceState
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Data, Event

_SOURCE: Final = "prelude"
_BEGINNING: Final = "1970-01-01T00:00:00.000000Z"


class _Step(msgspec.Struct, frozen=True):
    time: str
    vault: VaultId | None
    data: Data
    source: str = _SOURCE
    seq: int | None = None
    """Where others name the event by it."""


def seed_events(state: WorkspaceState) -> list[Event]:
    """Events, not numbered in a row, that lead to `state` when they are published in this order.

    An event that makes a tab has the number that is in the tab's id; the other numbers are negative. Times never
    decrease.
    """
    vaults = list(state.vaults)
    told = sorted((step for vault in vaults for step in _told(vault, state.of(vault))), key=lambda step: step.time)
    first = told[0].time if told else _BEGINNING
    last = told[-1].time if told else _BEGINNING
    steps = [_Step(first, each.id, c.VaultOpened(each.id, each.name, each.path)) for each in state.vaults.values()]
    if state.current is not None and state.current != vaults[0]:
        steps.append(_Step(first, state.current, c.VaultSwitched(state.current)))
    steps += [_Step(first, state.current, c.SharingSet(*each)) for each in state.sharing.items()]
    steps += told
    steps += [_Step(last, vault, data) for vault in vaults for data in _in_order(state.of(vault))]
    closed = [vault.id for vault in state.vaults.values() if not vault.open]
    if state.current is None and closed and vaults[0] != closed[0]:
        steps.append(_Step(last, closed[0], c.VaultSwitched(closed[0])))
    steps += [_Step(last, vault, c.VaultClosed(vault)) for vault in closed]
    return [_event(number, step) for number, step in enumerate(steps, start=1)]


def _event(number: int, step: _Step) -> Event:
    seq = step.seq if step.seq is not None else -number
    made: Event = ENTRY_OF[type(step.data)].event(
        seq, EventId(f"{_SOURCE}-{number}"), step.time, step.source, step.vault, step.data
    )
    return made


def _told(vault: VaultId, sub: VaultState) -> Iterator[_Step]:
    """What the times in a vault's state tell."""
    looked_at = [*sub.recents.items(), *([(sub.active.id, sub.active.since)] if sub.active is not None else [])]
    for place, (note, at) in enumerate(looked_at):
        tab = sub.tabs.get(note)
        if tab is None or at <= tab.last_accessed:
            yield _Step(at, vault, c.ActiveNoteSet(note))
            continue
        # Looking at it would have touched its tab: it had another name then.
        former = NoteId(f"{_SOURCE}/{place} {note}")
        yield _Step(at, vault, c.ActiveNoteSet(former))
        yield _Step(at, vault, c.NoteRenamed(former, note))
    for pin in sub.pins.values():
        yield _Step(pin.pinned_at, vault, c.NotePinned(pin.id), pin.publisher)
    for tab in sub.tabs.values():
        opened = c.TemporaryTabOpened(tab.note_id, tab.source)
        number = tab.id.rpartition("-")[2]
        yield _Step(tab.opened_at, vault, opened, tab.publisher, int(number))
        if tab.last_accessed > tab.opened_at:
            yield _Step(tab.last_accessed, vault, opened, tab.publisher)


def _in_order(sub: VaultState) -> Iterator[Data]:
    """What the order of a vault's lists tells beyond the times, and what has none."""
    if len(sub.pins) > 1:
        yield c.PinnedNotesReordered(tuple(sub.pins))
    if len(sub.tabs) > 1:
        yield c.TemporaryTabsReordered(tuple(tab.id for tab in sub.tabs.values()))
    for note in sub.archived:
        yield c.NoteArchived(note)
    if sub.active is None:
        yield c.ActiveNoteCleared()
    if (selection := sub.selection) is not None:
        yield c.SelectionChanged(
            selection.note,
            selection.start_line,
            selection.end_line,
            text=selection.text,
            text_sha256=selection.text_sha256,
        )
