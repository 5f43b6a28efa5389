"""Logs as they might have come about: random actions of UIs and of the daemon, admitted and folded as always."""

from collections.abc import Callable, Sequence
from random import Random

from workspaced_events.errors import ActionError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, admit
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event

V, W = VaultId("v"), VaultId("w")
NOTES = [NoteId(f"{folder}note {number}.md") for folder in ("", "work/", "日記/") for number in range(5)]


def time_at(seq: int) -> str:
    """Two events a second."""
    seconds = seq // 2
    day, rest = divmod(seconds, 86_400)
    return f"2026-03-{day + 1:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{seq % 2 * 5}00000Z"


def event_of(seq: int, data: Data, vault: VaultId | None = V, *, time: str = "", source: str = "ui") -> Event:
    """One event, admitted by nobody; `time`: by its sequence if there is none."""
    made: Event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time or time_at(seq), source, vault, data)
    return made


def recorded(*actions: Data | tuple[Data, VaultId]) -> list[Event]:
    """A log of these actions, of the current vault unless they name another, as the recorder would make it."""
    events: list[Event] = []
    state = EMPTY
    for action in actions:
        data, vault = action if isinstance(action, tuple) else (action, None)
        state = _append(events, state, data, vault)
    return events


def _append(events: list[Event], state: WorkspaceState, data: Data, vault: VaultId | None) -> WorkspaceState:
    seq = len(events) + 1
    vault = None if isinstance(data, c.PauseStarted | c.PauseEnded) else vault
    event = event_of(seq, data, admit(state, Action(data, vault=vault)), source=f"ui {seq % 3}")
    events.append(event)
    return apply(state, event)


def opened(*vaults: VaultId) -> list[Data]:
    return [c.VaultOpened(vault, vault, f"/{vault}") for vault in vaults]


def random_log(seed: int, count: int, vaults: Sequence[VaultId] = (V,)) -> list[Event]:
    """`count` events, at least one for each vault."""
    random = Random(seed)
    events = recorded(*opened(*vaults))
    state = EMPTY
    for event in events:
        state = apply(state, event)
    kinds, weights = list(_KINDS), [_KINDS[kind] for kind in _KINDS]
    while len(events) < count:
        vault = random.choice(vaults)
        make = random.choices(kinds, weights)[0]
        try:
            state = _append(events, state, make(random, state, vault), vault)
        except ActionError:
            continue
    return events


def _note(random: Random) -> NoteId:
    return NOTES[int(random.random() ** 2 * len(NOTES))]


def _shuffled(random: Random, things: Sequence[str]) -> tuple[str, ...]:
    return tuple(random.sample(things, len(things)))


def _pins_reordered(random: Random, state: WorkspaceState, vault: VaultId) -> Data:
    return c.PinnedNotesReordered(_shuffled(random, list(state.of(vault).pins)))  # type: ignore[arg-type]


def _tabs(state: WorkspaceState, vault: VaultId) -> list[str]:
    return [tab.id for tab in state.of(vault).tabs.values()]


def _tab_closed(random: Random, state: WorkspaceState, vault: VaultId) -> Data:
    tabs = _tabs(state, vault)
    return c.TemporaryTabClosed(tab_id=random.choice(tabs)) if tabs else c.TemporaryTabsCleared()  # type: ignore[arg-type]


def _tabs_expired(random: Random, state: WorkspaceState, vault: VaultId) -> Data:
    tabs = _tabs(state, vault)
    return c.TemporaryTabsExpired(tuple(random.sample(tabs, min(2, len(tabs)))))  # type: ignore[arg-type]


def _selected(random: Random, state: WorkspaceState, vault: VaultId) -> Data:
    active = state.of(vault).active
    line = random.randrange(1, 40)
    text = random.choice((None, "the text that is selected"))
    return c.SelectionChanged(active.id if active else _note(random), line, line + 3, text=text)


_KINDS: dict[Callable[[Random, WorkspaceState, VaultId], Data], int] = {
    lambda random, _state, _vault: c.ActiveNoteSet(_note(random), title="A title"): 20,
    lambda random, _state, _vault: c.TemporaryTabOpened(_note(random), "wikilink"): 12,
    lambda random, _state, _vault: c.NotePinned(_note(random), index=random.choice((None, 0, 1))): 10,
    lambda random, _state, _vault: c.NoteUnpinned(_note(random)): 8,
    lambda random, _state, _vault: c.NoteRenamed(_note(random), _note(random)): 4,
    lambda random, _state, _vault: c.NoteDeleted(_note(random)): 2,
    lambda random, _state, _vault: c.NoteArchived(_note(random)): 2,
    lambda random, _state, _vault: c.TemporaryTabClosed(note=_note(random)): 3,
    lambda random, _state, _vault: c.NoteChanged(note=_note(random), size=1, mtime_ns="1"): 5,
    lambda random, _state, _vault: c.MemoryWritten(_note(random), "delete", "agent", "0" * 64): 2,
    lambda random, _state, _vault: c.MemoryWriteEnded(random.randrange(1, 99), "done"): 2,
    lambda _random, _state, vault: c.VaultSwitched(vault): 2,
    lambda _random, _state, _vault: c.ActiveNoteCleared(): 2,
    lambda _random, _state, _vault: c.ViewOpened(): 1,
    lambda _random, _state, _vault: c.ViewClosed(): 1,
    lambda random, _state, _vault: c.PauseStarted(random.choice((None, "2026-03-09T00:00:00.000000Z"))): 1,
    lambda _random, _state, _vault: c.PauseEnded(): 2,
    _selected: 8,
    _pins_reordered: 4,
    lambda random, state, vault: c.TemporaryTabsReordered(_shuffled(random, _tabs(state, vault))): 4,  # type: ignore[arg-type]
    _tab_closed: 4,
    _tabs_expired: 2,
}
"""What happens, and how often."""
