"""Shrinking: what is left shows the same, loads everywhere, and no event of it can go."""

import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_log as logs
from support.profiles import examples
from support.stored_logs import part_of

from workspaced_events.errors import ActionError, InvalidArgument, NeverTrue, WorkspacedError
from workspaced_events.finding.expression import Expression
from workspaced_events.finding.shrink import ReducedLog, Shrinking
from workspaced_events.ids import NoteId, TabId, VaultId
from workspaced_events.journal.actions import Action, admit
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.log_slice import cut
from workspaced_events.replay.open import open_source
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event

V, W = VaultId("v"), VaultId("w")
A, B, C, D = (NoteId(f"{name}.md") for name in "abcd")
EXPRESSIONS = (
    "pinnedNotes[0].id == 'work/note 1.md'",
    "length(pinnedNotes) > `3` && temporaryTabs[0]",
    "temporaryTabs[?source == 'navigation'] | [1]",
    "selection.text && activeTabId",
    "archived[0] && pinnedNotes[0].id == archived[0]",
    "length(recentNotes) > `6` && !activeNote",
    "length(temporaryTabs) > `6`",
    "temporaryTabs[0].openedAt < temporaryTabs[0].lastAccessed",
    "currentVaultId == 'w' && pinnedNotes[1]",
    "temporaryTabs[2] && recentNotes[0].id == temporaryTabs[2].noteId",
)
some_logs = st.builds(
    lambda seed, count: logs.random_log(seed, count, (V, W)), st.integers(0, 10_000), st.integers(30, 250)
)


def shrunk(events: list[Event], expression: str) -> list[Event]:
    shrinking = Shrinking(part_of(events), Expression(expression))
    shrinking.run()
    return shrinking.events


def datas(events: list[Event]) -> list[Data]:
    return [event.data for event in events]


def published(events: list[Event], state: WorkspaceState = EMPTY, seq: int = 0) -> WorkspaceState:
    """The state once all actions that are admitted were published, by the plainest reading of the rules.

    They follow event `seq` of a log, up to which it folds to `state`.

    An order is one of what is there; a tab that is named is the one that the same event has made.
    """
    numbers: dict[str, str] = {tab.id: tab.id for sub in state.by_vault.values() for tab in sub.tabs.values()}
    for event in events:
        data = event.data
        there = state.of(event.vault)
        present = [tab.id for tab in there.tabs.values()]
        if isinstance(data, c.PinnedNotesReordered):
            data = c.PinnedNotesReordered(tuple(note for note in data.notes if note in there.pins))
            if event.data.notes and not data.notes:
                continue
        elif isinstance(data, c.TemporaryTabsReordered | c.TemporaryTabsExpired):
            now = tuple(TabId(numbers.get(tab, "")) for tab in data.tab_ids)
            data = type(data)(tuple(tab for tab in now if tab in present))
            if event.data.tab_ids and not data.tab_ids:
                continue
        elif isinstance(data, c.TemporaryTabClosed) and data.tab_id is not None:
            if data.tab_id not in numbers:
                continue
            data = c.TemporaryTabClosed(tab_id=TabId(numbers[data.tab_id]))
        try:
            is_of_no_vault = isinstance(data, c.PauseStarted | c.PauseEnded)
            vault = admit(state, Action(data, vault=None if is_of_no_vault else event.vault))
        except ActionError:
            continue
        seq += 1
        numbers[f"tab-{event.seq}"] = f"tab-{seq}"
        state = apply(state, ENTRY_OF[type(data)].event(seq, event.id, event.time, event.source, vault, data))
    return state


class TestTheResult:
    @settings(max_examples=examples(60))
    @given(some_logs, st.sampled_from(EXPRESSIONS))
    def test_shows_it_and_would_not_without_any_one_event(self, events: list[Event], text: str) -> None:
        expression = Expression(text)
        try:
            result = shrunk(events, text)
        except NeverTrue:
            return
        assert expression(fold_all(result, EMPTY))
        assert [event.seq for event in result] == list(range(1, len(result) + 1))
        assert len({event.id for event in result}) == len(result)
        assert [event.time for event in result] == sorted(event.time for event in result)
        assert {(each.id, each.time, each.source, each.type) for each in result} <= {
            (each.id, each.time, each.source, each.type) for each in events
        }
        assert published(result) == fold_all(result, EMPTY)
        for index in range(len(result)):
            assert not expression(published([*result[:index], *result[index + 1 :]]))


class TestWhatIsLeft:
    def test_calls_tabs_by_their_new_numbers(self) -> None:
        events = logs.recorded(
            *logs.opened(V),
            c.NotePinned(D),
            c.TemporaryTabOpened(A, "search"),
            c.NoteUnpinned(D),
            c.TemporaryTabOpened(B, "search"),
            c.TemporaryTabOpened(C, "search"),
            c.TemporaryTabsReordered((TabId("tab-6"), TabId("tab-3"), TabId("tab-4"), TabId("tab-5"))),
            c.TemporaryTabClosed(tab_id=TabId("tab-4")),
            c.TemporaryTabsExpired((TabId("tab-5"), TabId("tab-3"))),
            c.ActiveNoteSet(D),
        )
        everything = ReducedLog(EMPTY, 0, events, lambda _state: True)
        assert everything.events == events
        assert everything.without(1, 2)
        tabs = [TabId(f"tab-{number}") for number in range(6)]
        assert datas(everything.events[5:]) == [
            c.TemporaryTabsReordered((tabs[5], tabs[2], tabs[4])),
            c.TemporaryTabClosed(tab_id=tabs[3]),
            c.TemporaryTabsExpired((tabs[4], tabs[2])),
            c.ActiveNoteSet(D),
        ]
        assert everything.without(1, 3)
        assert datas(everything.events[3:]) == [
            c.TemporaryTabsReordered((tabs[3], tabs[2])),
            c.TemporaryTabsExpired((tabs[2],)),
            c.ActiveNoteSet(D),
        ]

    def test_is_all_that_gives_a_tab_its_number_where_that_is_looked_for(self) -> None:
        called = c.ToolCalled("t", "agent", {}, 1, "0" * 64, 1, 1, True, logs.time_at(0))
        events = logs.recorded(*logs.opened(V), *[called] * 5, c.TemporaryTabOpened(A, "search"))
        assert len(shrunk(events, "temporaryTabs[0].id == 'tab-7'")) == 7


def test_an_expression_is_asked_few_times() -> None:
    shrinking = Shrinking(part_of(logs.random_log(3, 5_000)), Expression("length(pinnedNotes) >= `3`", V))
    shrinking.run()
    assert len(shrinking.events) <= 6
    assert shrinking.asked < 150


class TestNothingToShrink:
    EVENTS = logs.recorded(*logs.opened(V), c.NotePinned(A), c.NoteUnpinned(A))

    def test_where_the_log_cannot_be_published_anew(self) -> None:
        events = [msgspec.structs.replace(each, seq=each.seq + 5) for each in self.EVENTS[1:]]
        stream = io.BytesIO(b"".join(export_lines("x", events)))
        with open_source(stream) as source, pytest.raises(InvalidArgument):
            Shrinking(source, Expression("pinnedNotes", V))


class TestAPartOfALog:
    @settings(max_examples=examples(60))
    @given(some_logs, st.sampled_from(EXPRESSIONS), st.integers(2, 200))
    def test_shrinks_behind_its_first_state(self, events: list[Event], text: str, since: int) -> None:
        part = cut(part_of(events), since=min(since, len(events)))
        expression = Expression(text)
        try:
            shrinking = Shrinking(part, expression)
        except WorkspacedError:  # it is true at the beginning, or never
            return
        shrinking.run()
        assert [event.seq for event in shrinking.events] == [
            part.first + place for place in range(len(shrinking.events))
        ]
        last = fold_all(shrinking.events, part.start)
        assert expression(last)
        assert published(shrinking.events, part.start, part.first - 1) == last
