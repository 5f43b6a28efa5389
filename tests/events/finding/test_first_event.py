"""Finding the event at which something begins, by an expression along the log."""

import io
from itertools import pairwise

import jmespath
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_log as logs
from support.profiles import examples
from support.stored_logs import part_of

from workspaced_events.errors import InvalidArgument, LogDamaged, NeverTrue, WorkspacedError
from workspaced_events.finding.expression import EXPRESSION_CHARS_MAX, Expression, is_true
from workspaced_events.finding.first_event import find_first
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState, to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.open import open_source
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

V, W, A, B = VaultId("v"), VaultId("w"), NoteId("a.md"), NoteId("b.md")
SESSION = logs.recorded(
    *logs.opened(V, W),
    c.NotePinned(A),
    c.ActiveNoteSet(B),
    (c.NotePinned(B), W),
    c.NotePinned(B),
    c.VaultSwitched(W),
    c.NoteUnpinned(B),
)
EXPRESSIONS = (
    "length(pinnedNotes) > `2`",
    "pinnedNotes[1].id == 'note 3.md'",
    "activeNote.id == temporaryTabs[0].noteId",
    "activeTabId && length(temporaryTabs) > `3`",
    "selection.text",
    "selection.note != activeNote.id",
    "contains(recentNotes[3:].id, 'note 1.md')",
    "sort_by(recentNotes, &id)[0].id == 'note 0.md'",
    "seq > `20`",
    "length(vaults) == `2`",
    "lastUpdated > '2026-03-01T00:00:05'",
    "max_by(temporaryTabs, &openedAt).source == 'navigation'",
    "{pins: pinnedNotes, tabs: temporaryTabs}.tabs[2]",
    "*.id",
    "@.selection.note == 'note 1.md'",
    "length(keys(@)) > `3` && contains(to_string(@), 'tab-9')",
    "sharing",
    "volunteering",
)
some_logs = st.builds(
    lambda seed, count: logs.random_log(seed, count, (V, W)), st.integers(0, 10_000), st.integers(2, 60)
)


def states_of(events: list[Event]) -> list[WorkspaceState]:
    """The state before the first event and after each."""
    states = [EMPTY]
    for event in events:
        states.append(apply(states[-1], event))
    return states


def truth(expression: str, state: WorkspaceState, vault: VaultId | None = None) -> bool:
    """As anybody would find out with the whole state and JMESPath as it is."""
    try:
        return is_true(jmespath.search(expression, msgspec.to_builtins(to_json(state, vault))))
    except (jmespath.exceptions.JMESPathError, TypeError):
        return False


class TestAnExpression:
    @pytest.mark.parametrize(
        ("expression", "is_so"),
        [
            ("`null`", False),
            ("''", False),
            ("`[]`", False),
            ("`0`", True),
            ("' '", True),
            ("`[null]`", True),
            ("activeNote", False),
            ("pinnedNotes", False),
        ],
    )
    def test_is_true_as_jmespath_defines_it(self, expression: str, is_so: bool) -> None:
        assert Expression(expression)(EMPTY) is is_so

    @settings(max_examples=examples(100))
    @given(some_logs, st.sampled_from(EXPRESSIONS), st.sampled_from([None, V, W]))
    def test_says_what_the_whole_state_says(self, events: list[Event], text: str, vault: VaultId | None) -> None:
        expression = Expression(text, vault)
        states = states_of(events)
        for before, after in pairwise(states):
            assert expression(after) == truth(text, after, vault)
            if expression.same(before, after):
                assert truth(text, before, vault) == truth(text, after, vault)

    def test_need_not_be_asked_again_while_what_it_reads_stays(self) -> None:
        states = states_of(SESSION)
        pins = Expression("pinnedNotes[0]", V)
        moved = [n for n, (old, new) in enumerate(pairwise(states), 1) if not pins.same(old, new)]
        assert moved == [3, 6]

    @pytest.mark.parametrize(
        ("text", "position"), [("pinnedNotes[0", 13), ("a b", 2), ("'open", 0), ("seq > 3", 6)]
    )
    def test_that_does_not_parse_is_refused_and_says_where(self, text: str, position: int) -> None:
        with pytest.raises(InvalidArgument) as caught:
            Expression(text)
        assert caught.value.details["position"] == position
        assert text in caught.value.message

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "activeNote.id == 'a' || pinnedNotes[0] && active",
            "pinnedNotes[?lengthy(id)]",
            "(" * 5_000 + "seq" + ")" * 5_000,
            "seq" + " " * EXPRESSION_CHARS_MAX,
        ],
    )
    def test_that_can_never_work_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidArgument):
            Expression(text)

    def test_that_is_wrong_is_refused_and_a_word_of_json_is_told_how_it_is_written(self) -> None:
        with pytest.raises(InvalidArgument) as caught:
            Expression("activeNote == null")
        assert "`null`" in caught.value.hint
        with pytest.raises(InvalidArgument):
            Expression("length(pinnedNotes, seq)")(EMPTY)

    def test_that_cannot_be_evaluated_does_not_show_it(self) -> None:
        found = find_first(part_of(SESSION), Expression("starts_with(activeNote.id, 'b')"))
        assert found.event.seq == 4


class TestTheFirstEvent:
    @settings(max_examples=examples(100))
    @given(some_logs, st.sampled_from(EXPRESSIONS))
    def test_is_that_after_which_the_expression_is_true_first(self, events: list[Event], text: str) -> None:
        says = [truth(text, state) for state in states_of(events)]
        if says[0]:
            with pytest.raises(WorkspacedError, match="already"):
                find_first(part_of(events), Expression(text))
        elif True not in says:
            with pytest.raises(NeverTrue):
                find_first(part_of(events), Expression(text))
        else:
            found = find_first(part_of(events), Expression(text))
            first = says.index(True)
            assert found.event == events[first - 1]
            assert found.before == fold_all(events[: first - 1], EMPTY)
            assert found.after == fold_all(events[:first], EMPTY)

    def test_is_found_before_damage_and_behind_it_is_not(self) -> None:
        lines = [*export_lines("x", SESSION), b"{\n"]
        with open_source(io.BytesIO(b"".join(lines))) as source, pytest.raises(LogDamaged):
            find_first(source, Expression("length(pinnedNotes) > `5`"))
        long = logs.recorded(*logs.opened(V), c.NotePinned(A), *[c.ActiveNoteCleared()] * 20_000)
        lines = [*export_lines("x", long), b"{\n"]
        with open_source(io.BytesIO(b"".join(lines))) as source:
            assert find_first(source, Expression("pinnedNotes")).event.seq == 2

    def test_never_true_tells_what_stood_in_the_way(self) -> None:
        with pytest.raises(NeverTrue) as caught:
            find_first(part_of(SESSION), Expression("length(activeNote.seq) > `1`"))
        assert "length()" in caught.value.hint
