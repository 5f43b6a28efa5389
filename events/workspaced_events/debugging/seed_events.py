"""Seed events for a part of a log: events that lead from nothing to the state at the part's beginning.

They replace the real events, which are unknown. The resulting state has the same JSON, except for `seq`,
`lastUpdated` and the numbers of tabs; it lacks former paths.
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
    """Set if other events name this one by its sequence."""


def seed_events(state: WorkspaceState) -> list[Event]:
    """Events, without consecutive sequences, that lead to `state` if published in this order.

    An event that makes a tab has the sequence in the tab's id; the other sequences are negative. Times never
    decrease.
    """
    vaults = list(state.vaults)
    timed = sorted(
        (step for vault in vaults for step in _timed_steps(vault, state.of(vault))), key=lambda step: step.time
    )
    first = timed[0].time if timed else _BEGINNING
    last = timed[-1].time if timed else _BEGINNING
    opened = [c.VaultOpened(each.id, each.name, each.path, each.files) for each in state.vaults.values()]
    steps = [_Step(first, each.vault_id, each) for each in opened]
    if state.current is not None and state.current != vaults[0]:
        steps.append(_Step(first, state.current, c.VaultSwitched(state.current)))
    steps += [_Step(first, state.current, c.SharingSet(*each)) for each in state.sharing.items()]
    steps += [_Step(first, state.current, c.VolunteeringSet(*each)) for each in state.volunteering.items()]
    steps += timed
    steps += [
        _Step(last, vault, c.ViewOpened(confidence), source)
        for vault, views in state.views.items()
        for source, confidence in views.items()
    ]
    steps += [_Step(last, vault, data) for vault in vaults for data in _in_order(state.of(vault))]
    closed = [vault.id for vault in state.vaults.values() if not vault.open]
    if state.current is None and closed and vaults[0] != closed[0]:
        steps.append(_Step(last, closed[0], c.VaultSwitched(closed[0])))
    steps += [_Step(last, vault, c.VaultClosed(vault)) for vault in closed]
    if (paused := state.paused) is not None:
        steps.append(_Step(max(last, paused.since), state.current, c.PauseStarted(paused.until)))
    return [_event(number, step) for number, step in enumerate(steps, start=1)]


def _event(number: int, step: _Step) -> Event:
    seq = step.seq if step.seq is not None else -number
    event: Event = ENTRY_OF[type(step.data)].event(
        seq, EventId(f"{_SOURCE}-{number}"), step.time, step.source, step.vault, step.data
    )
    return event


def _timed_steps(vault: VaultId, sub: VaultState) -> Iterator[_Step]:
    """The steps that follow from the times in a vault's state."""
    activations = [*sub.recents.items(), *([(sub.active.id, sub.active.since)] if sub.active is not None else [])]
    for place, (note, at) in enumerate(activations):
        tab = sub.tabs.get(note)
        publisher = sub.active.publisher if sub.active is not None and sub.active.id == note else _SOURCE
        if tab is None or at <= tab.last_accessed:
            yield _Step(at, vault, c.ActiveNoteSet(note), publisher)
            continue
        # Setting the note would have touched its tab, so it must have had another name then.
        former = NoteId(f"{_SOURCE}/{place} {note}")
        yield _Step(at, vault, c.ActiveNoteSet(former), publisher)
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
    """The events for the order of a vault's lists, and for fields without a time."""
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
