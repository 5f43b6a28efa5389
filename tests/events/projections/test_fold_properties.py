"""The fold against random sessions: what always holds, and an independent model of the spec.

The model below is written from the workspace spec alone, with plain lists and no regard for speed. Where the spec
leaves a value open (which of two merged entries gives its times, say), a model value is the set of what is
allowed; the comparison checks that the fold is among them and narrows the set to what the fold chose.
"""

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_log import V, W, event_of, random_log

from workspaced_events.ids import EventId, LinkedVaultId, NoteId, OriginId, TabId, VaultId
from workspaced_events.projections.workspace_fold import apply, expired_tabs, fold_all, visible_tabs
from workspaced_events.projections.workspace_state import EMPTY, StateJson, WorkspaceState, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.peer_events import VaultMapping

VAULTS = (VaultId("v1"), VaultId("v2"))
NOTES = tuple(NoteId(f"{name}.md") for name in ("a", "b", "work/c", "d", "日記"))
TABS_MAX, RECENTS_MAX = 10, 50


def time_at(hundredths: int, *, day: int = 1) -> str:
    minutes, rest = divmod(hundredths, 6_000)
    return f"2026-03-{day:02}T{minutes // 60:02}:{minutes % 60:02}:{rest // 100:02}.{rest % 100:02}0000Z"


# -- the model --

Allowed = set[Any]


@dataclass
class ModelTab:
    note: str
    id: Allowed
    source: Allowed
    opened: Allowed
    accessed: Allowed


@dataclass
class ModelVault:
    active: str | None = None
    since: Allowed = field(default_factory=set)
    pins: list[tuple[str, Allowed]] = field(default_factory=list)
    tabs: list[ModelTab] = field(default_factory=list)
    recents: list[tuple[str, Allowed]] = field(default_factory=list)
    """Newest first, as shown."""
    selection: tuple[str, int, int, str | None] | None = None
    archived: list[str] = field(default_factory=list)
    updated: Allowed = field(default_factory=lambda: {None})
    active_may_be_dropped: bool = False

    def pinned(self, path: str) -> bool:
        return any(entry[0] == path for entry in self.pins)

    def tab_of(self, path: str) -> ModelTab | None:
        return next((tab for tab in self.tabs if tab.note == path), None)

    def set_active(self, path: str | None) -> None:
        if path != self.active:
            self.active, self.selection = path, None

    def open_tab(self, path: str, source: str, seq: int, time: str) -> None:
        self.tabs.append(ModelTab(path, {f"tab-{seq}"}, {source}, {time}, {time}))
        if len(self.tabs) > TABS_MAX:
            del self.tabs[0]

    def drop_tab(self, path: str) -> None:
        self.tabs = [tab for tab in self.tabs if tab.note != path]

    def rename(self, old: str, new: str) -> None:
        if self.active == old:
            self.active = new
        if self.selection and self.selection[0] == old:
            self.selection = (new, *self.selection[1:])
        self.pins = merged_pairs(self.pins, old, new)
        self.recents = merged_pairs(self.recents, old, new)
        self.archived = list(dict.fromkeys(new if path == old else path for path in self.archived))
        tabs: list[ModelTab] = []
        for tab in self.tabs:
            tab.note = new if tab.note == old else tab.note
            twin = next((earlier for earlier in tabs if earlier.note == tab.note), None)
            if twin is None:
                tabs.append(tab)
            else:
                for name in ("id", "source", "opened", "accessed"):
                    getattr(twin, name).update(getattr(tab, name))
        self.tabs = [tab for tab in tabs if not self.pinned(tab.note)]

    def visible(self) -> tuple[Any, ...]:
        return copy.deepcopy((self.active, self.pins, self.tabs, self.recents, self.selection, self.archived))


def merged_pairs(entries: list[tuple[str, Allowed]], old: str, new: str) -> list[tuple[str, Allowed]]:
    result: list[tuple[str, Allowed]] = []
    for path, allowed in entries:
        path = new if path == old else path
        twin = next((entry for entry in result if entry[0] == path), None)
        if twin is None:
            result.append((path, allowed))
        else:
            twin[1].update(allowed)
    return result


class Model:
    """The whole workspace, one method for each kind of event."""

    def __init__(self) -> None:
        self.seq = 0
        self.unknown = 0
        self.current: str | None = None
        self.registered: dict[str, tuple[str, str]] = {}
        self.hidden: set[str] = set()
        self.vaults: dict[str, ModelVault] = {vault: ModelVault() for vault in VAULTS}

    def take(self, event: c.Event) -> None:
        if isinstance(event, c.UnknownEvent):
            self.unknown += 1
            return
        data: c.Data = event.data
        if isinstance(data, c.NoteChanged | c.DaemonStopped):
            return
        self.seq = event.seq
        assert event.vault is not None
        vault = self.vaults[event.vault]
        if isinstance(data, c.VaultOpened | c.VaultClosed | c.VaultSwitched):
            self.take_vault_event(data, event.time)
            return
        before = vault.visible()
        for part in (take_active, take_pins, take_tabs, take_notes):
            part(vault, data, event.seq, event.time)
        active_in_pin = isinstance(data, c.TemporaryTabOpened) and vault.pinned(data.note)
        if vault.visible() != before or active_in_pin:
            vault.updated = {event.time}
        else:
            vault.updated = vault.updated | {event.time}

    def take_vault_event(self, data: c.VaultOpened | c.VaultClosed | c.VaultSwitched, time: str) -> None:
        target = data.vault_id
        for vault in self.vaults.values():
            vault.updated = vault.updated | {time}
        if isinstance(data, c.VaultOpened):
            self.registered[target] = (data.name, data.path)
            self.hidden.discard(target)
            if self.current is None:
                self.current = target
                self.vaults[target].active_may_be_dropped = True
        elif isinstance(data, c.VaultClosed):
            self.hidden.add(target)
            if self.current == target:
                self.current = None
                self.vaults[target].active_may_be_dropped = True
        elif target != self.current:
            if self.current is not None:
                self.vaults[self.current].active_may_be_dropped = True
            self.current = target
            self.vaults[target].set_active(None)

    def open_vaults(self) -> list[VaultId]:
        return [VaultId(vault) for vault in self.registered if vault not in self.hidden]


def take_active(vault: ModelVault, data: c.Data, seq: int, time: str) -> None:
    if isinstance(data, c.ActiveNoteCleared) or (isinstance(data, c.ActiveNoteSet) and data.note is None):
        vault.set_active(None)
    elif isinstance(data, c.ActiveNoteSet) and data.note is not None:
        vault.since = vault.since | {time} if vault.active == data.note else {time}
        vault.set_active(data.note)
        vault.recents = [(data.note, {time}), *(entry for entry in vault.recents if entry[0] != data.note)]
        del vault.recents[RECENTS_MAX:]
        tab = vault.tab_of(data.note)
        if tab:
            tab.accessed = {time}
    elif isinstance(data, c.SelectionChanged) and data.note == vault.active:
        vault.selection = (data.note, data.start_line, data.end_line, data.text)


def take_pins(vault: ModelVault, data: c.Data, seq: int, time: str) -> None:
    if isinstance(data, c.NotePinned) and not vault.pinned(data.note):
        vault.pins.insert(len(vault.pins) if data.index is None else data.index, (data.note, {time}))
        vault.drop_tab(data.note)
    elif isinstance(data, c.NoteUnpinned) and vault.pinned(data.note):
        vault.pins = [entry for entry in vault.pins if entry[0] != data.note]
        vault.open_tab(data.note, "navigation", seq, time)
    elif isinstance(data, c.PinnedNotesReordered) and sorted(data.notes) == sorted(
        entry[0] for entry in vault.pins
    ):
        vault.pins = [entry for path in data.notes for entry in vault.pins if entry[0] == path]


def take_tabs(vault: ModelVault, data: c.Data, seq: int, time: str) -> None:
    if isinstance(data, c.TemporaryTabOpened) and not vault.pinned(data.note):
        tab = vault.tab_of(data.note)
        if tab:
            tab.accessed = {time}
        else:
            vault.open_tab(data.note, data.source, seq, time)
    elif isinstance(data, c.TemporaryTabClosed):
        vault.tabs = [tab for tab in vault.tabs if tab.note != data.note and data.tab_id not in tab.id]
    elif isinstance(data, c.TemporaryTabsReordered):
        ids = [next(iter(tab.id)) for tab in vault.tabs]
        if sorted(ids) == sorted(data.tab_ids):
            vault.tabs = [tab for tab_id in data.tab_ids for tab in vault.tabs if tab_id in tab.id]
    elif isinstance(data, c.TemporaryTabsCleared):
        vault.tabs = []
    elif isinstance(data, c.TemporaryTabsExpired):
        vault.tabs = [tab for tab in vault.tabs if not tab.id & set(data.tab_ids)]


def take_notes(vault: ModelVault, data: c.Data, seq: int, time: str) -> None:
    if isinstance(data, c.NoteRenamed):
        vault.rename(data.from_, data.to)
    elif isinstance(data, c.NoteDeleted):
        vault.pins = [entry for entry in vault.pins if entry[0] != data.note]
        vault.drop_tab(data.note)
        if vault.active == data.note:
            vault.set_active(None)
    elif isinstance(data, c.NoteArchived) and data.note not in vault.archived:
        vault.archived.append(data.note)
    elif isinstance(data, c.NoteUnarchived) and data.note in vault.archived:
        vault.archived.remove(data.note)


def chosen(allowed: Allowed, real: Any) -> Allowed:
    assert real in allowed
    return {real}


def compare_vault(model: ModelVault, real: StateJson) -> None:
    """Checks `real` against the model and settles what the spec left open."""
    if model.active_may_be_dropped and real.active_note is None:
        model.set_active(None)
    model.active_may_be_dropped = False
    assert (real.active_note.id if real.active_note else None) == model.active
    if real.active_note:
        model.since = chosen(model.since, real.active_note.since)
    assert [pin.id for pin in real.pinned_notes] == [path for path, _ in model.pins]
    model.pins = [
        (path, chosen(times, pin.pinned_at))
        for (path, times), pin in zip(model.pins, real.pinned_notes, strict=True)
    ]
    assert [tab.note_id for tab in real.temporary_tabs] == [tab.note for tab in model.tabs]
    for tab, shown in zip(model.tabs, real.temporary_tabs, strict=True):
        tab.id, tab.source = chosen(tab.id, shown.id), chosen(tab.source, shown.source)
        tab.opened, tab.accessed = chosen(tab.opened, shown.opened_at), chosen(tab.accessed, shown.last_accessed)
    assert [recent.id for recent in real.recent_notes] == [path for path, _ in model.recents]
    model.recents = [
        (path, chosen(times, recent.at))
        for (path, times), recent in zip(model.recents, real.recent_notes, strict=True)
    ]
    kept = real.selection
    assert (kept and (kept.note, kept.start_line, kept.end_line, kept.text)) == model.selection
    assert real.archived == model.archived
    model.updated = chosen(model.updated, real.last_updated)


def compare(model: Model, state: WorkspaceState) -> None:
    assert (state.seq, state.current, state.unknown_events) == (model.seq, model.current, model.unknown)
    shown = {(vault.id, vault.name, vault.path) for vault in to_json(state).vaults}
    assert shown == {(vault, *model.registered[vault]) for vault in model.open_vaults()}
    for vault in VAULTS:
        compare_vault(model.vaults[vault], to_json(state, vault))


# -- random sessions --


def random_data(chance: Random, state: WorkspaceState, vault: VaultId) -> c.Data:
    """An action of any kind; most fit what is there."""
    sub = state.of(vault)
    note, other = chance.choice(NOTES), chance.choice(NOTES)
    pins = tuple(chance.sample(list(sub.pins), len(sub.pins)))
    tabs = tuple(chance.sample([tab.id for tab in sub.tabs.values()], len(sub.tabs)))
    active = sub.active.id if sub.active else note
    text = chance.choice([None, "text"])
    makers: list[Callable[[], c.Data]] = [
        *[lambda: c.ActiveNoteSet(note=note)] * 3,
        lambda: c.ActiveNoteSet(note=None),
        lambda: c.ActiveNoteCleared(),
        lambda: c.SelectionChanged(chance.choice([active, note]), 1, chance.randrange(1, 9), text=text),
        *[lambda: c.NotePinned(note, index=chance.choice([None, 0, 2, 9]))] * 2,
        lambda: c.NoteUnpinned(chance.choice([note, *pins])),
        lambda: c.PinnedNotesReordered(chance.choice([pins, pins, pins[1:], (*pins, *pins[:1])])),
        *[lambda: c.TemporaryTabOpened(note, chance.choice(["search", "wikilink", "history"]))] * 2,
        lambda: c.TemporaryTabClosed(note=note),
        lambda: c.TemporaryTabClosed(tab_id=chance.choice([*tabs, TabId("tab-0")])),
        lambda: c.TemporaryTabsReordered(chance.choice([tabs, tabs, tabs[1:], (*tabs, TabId("tab-0"))])),
        lambda: c.TemporaryTabsExpired((*tabs[: chance.randrange(3)], TabId("tab-0"))),
        lambda: c.TemporaryTabsCleared(),
        *[lambda: c.NoteRenamed(from_=note, to=other)] * 2,
        lambda: c.NoteDeleted(note),
        lambda: c.NoteArchived(note),
        lambda: c.NoteUnarchived(chance.choice([note, *sub.archived])),
        lambda: c.NoteChanged(note, size=1, mtime_ns="1"),
        lambda: c.DaemonStopped("SIGTERM"),
        lambda: c.VaultOpened(vault, f"name {chance.randrange(2)}", "/path"),
        lambda: c.VaultClosed(vault),
        lambda: c.VaultSwitched(
            chance.choice([each.id for each in state.vaults.values() if each.open] or [vault])
        ),
    ]
    data = chance.choice(makers)()
    is_closed = isinstance(data, c.VaultSwitched) and not state.vaults[data.vault_id].open
    return c.VaultOpened(vault, "name", "/path") if is_closed else data


seeds, lengths = st.integers(0, 2**32), st.integers(0, 60)
notes_before = st.sampled_from([0, 0, 0, 9, 10, 49, 50])
"""How many other notes were opened in tabs and looked at before, so that limits are near."""


@functools.cache
def opening(before: int) -> tuple[list[c.Event], WorkspaceState]:
    filler = [NoteId(f"filler {number}.md") for number in range(before)]
    actions: list[c.Data] = [c.VaultOpened(vault, "name", f"/{vault}") for vault in VAULTS]
    actions += [c.TemporaryTabOpened(note=path, source="search") for path in filler]
    actions += [c.ActiveNoteSet(note=path) for path in filler]
    events = [
        event_of(seq, data, vault=getattr(data, "vault_id", VAULTS[0]), time=time_at(seq))
        for seq, data in enumerate(actions, start=1)
    ]
    return events, fold_all(events, EMPTY)


def play(seed: int, length: int, before: int) -> Iterator[tuple[WorkspaceState, c.Event, WorkspaceState]]:
    """Folds random events after the opening, one at a time: the state before, the event, the state after."""
    chance = Random(seed)
    events, state = opening(before)
    clock = len(events)
    for seq in range(len(events) + 1, len(events) + 1 + length):
        clock += chance.choice([0, 1, 100])
        vault = chance.choice([VAULTS[0], VAULTS[0], VAULTS[0], VAULTS[1]])
        if chance.random() < 0.05:
            raw = msgspec.Raw(b'{"note":"a.md"}')
            event: c.Event = c.UnknownEvent(
                seq, EventId(f"id-{seq}"), time_at(clock), "ui", vault, kind="zoom_set", data=raw
            )
        else:
            data = random_data(chance, state, vault)
            event = event_of(seq, data, vault=getattr(data, "vault_id", vault), time=time_at(clock))
        note(f"{event.seq} {event.time} {event.vault} {getattr(event, 'data', None)}")
        after = apply(state, event)
        yield state, event, after
        state = after


def check_invariants(state: WorkspaceState) -> None:
    """What the model does not say."""
    for vault, sub in state.by_vault.items():
        shown = to_json(state, vault)
        active = shown.active_note.id if shown.active_note else None
        assert shown.active_tab_id == next((t.id for t in shown.temporary_tabs if t.note_id == active), None)
        assert all(path == pin.id for path, pin in sub.pins.items())
        assert all(path == tab.note_id for path, tab in sub.tabs.items())
        assert not any(path == target for path, target in sub.former.items())
    assert state.current is None or state.current in {entry.id for entry in to_json(state).vaults}


@settings(max_examples=examples(400))
@given(seeds, lengths, notes_before)
def test_the_fold_agrees_with_a_slow_model_of_the_spec(seed: int, length: int, before: int) -> None:
    events, state = opening(before)
    model = Model()
    for event in events:
        model.take(event)
    compare(model, state)
    for _, event, after in play(seed, length, before):
        model.take(event)
        compare(model, after)
        check_invariants(after)


@settings(max_examples=examples(100))
@given(seeds, lengths, notes_before)
def test_applying_moves_no_state_that_was_handed_out(seed: int, length: int, before: int) -> None:
    handed_out: list[tuple[WorkspaceState, bytes]] = []
    for state, event, after in play(seed, length, before):
        again = apply(state, event)
        assert again == after
        assert msgspec.json.encode(again) == msgspec.json.encode(after)
        handed_out.append((after, msgspec.json.encode(after)))
    assert all(msgspec.json.encode(state) == frozen for state, frozen in handed_out)


@settings(max_examples=examples(100))
@given(seeds, lengths, notes_before, st.integers(0, 40))
def test_a_snapshot_plus_the_tail_is_the_state(seed: int, length: int, before: int, cut: int) -> None:
    events, first = opening(before)
    played = list(play(seed, length, before))
    tail = [event for _, event, _ in played]
    states = [first, *(after for _, _, after in played)]
    cut = min(cut, len(tail))
    snapshot = msgspec.json.decode(msgspec.json.encode(states[cut]), type=WorkspaceState)
    assert msgspec.json.encode(fold_all(tail[cut:], snapshot)) == msgspec.json.encode(states[-1])
    assert fold_all([*events, *tail], EMPTY) == states[-1]


@settings(max_examples=examples(100))
@given(seeds, lengths, st.integers(-5, 30 * 100))
def test_a_tab_is_expired_from_a_day_on_and_visible_before(seed: int, length: int, past_a_day: int) -> None:
    state = opening(9)[1]
    for _, _, after in play(seed, length, 9):
        state = after
    # Hundredths of a second: sessions last less than a minute, so that `now` falls among the tabs' ages.
    a_day_before, now = time_at(past_a_day + 5), time_at(past_a_day + 5, day=2)
    for sub in state.by_vault.values():
        tabs = list(sub.tabs.values())
        assert expired_tabs(sub, now) == [tab for tab in tabs if tab.last_accessed <= a_day_before]
        assert visible_tabs(sub, now) == [tab for tab in tabs if tab.last_accessed > a_day_before]


# -- renames, followed note by note --


@dataclass
class Traveller:
    """A note, wherever it goes."""

    at: str
    left: set[str] = field(default_factory=set)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.sampled_from(NOTES), st.sampled_from(NOTES)), max_size=12))
@example([(NOTES[0], NOTES[1]), (NOTES[1], NOTES[0]), (NOTES[0], NOTES[2])])
def test_a_former_path_leads_to_a_note_that_left_it_or_nowhere(moves: list[tuple[NoteId, NoteId]]) -> None:
    travellers = [Traveller(path) for path in NOTES]
    state = apply(EMPTY, event_of(1, c.VaultOpened(VAULTS[0], "name", "/path"), vault=VAULTS[0], time=time_at(0)))
    for seq, (source, to) in enumerate(moves, start=2):
        state = apply(state, event_of(seq, c.NoteRenamed(from_=source, to=to), vault=VAULTS[0], time=time_at(seq)))
        if source == to:
            continue
        if not any(one.at == source for one in travellers):
            travellers.append(Traveller(source))
        for one in [one for one in travellers if one.at == source]:
            one.left.add(source)
            one.at = to
    sub = state.of(VAULTS[0])
    for path in NOTES:
        resolved = sub.current_path(path)
        homes = {one.at for one in travellers if path in one.left}
        assert resolved is None or resolved in homes
        if homes and not any(one.at == path for one in travellers):
            assert resolved is not None


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.integers(1, 50), st.booleans())
def test_events_fold_together_as_one_by_one(seed: int, length: int, linked: bool) -> None:
    events = random_log(seed, 200, (V, W))
    link = c.LinkChanged(OriginId("desk"), vaults=(VaultMapping(V, LinkedVaultId("work")),))
    state = apply(EMPTY, event_of(0, link, vault=V, time=time_at(0))) if linked else EMPTY
    for begin in range(0, len(events), length):
        together = fold_all(events[begin : begin + length], state)
        state = functools.reduce(apply, events[begin : begin + length], state)
        assert msgspec.json.encode(together) == msgspec.json.encode(state)
