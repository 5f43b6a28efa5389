"""What a daemon shares of its state, and what never leaves."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_log import V, event_of

from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers import differences as views
from workspaced_events.projections.shared_view import shared_view
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema import peer_events as p

L, OWN = LinkedVaultId("c" * 32), OriginId("a" * 32)
SECRET = NoteId("secret.md")
NOTES = [NoteId(f"{name}.md") for name in "abc"]


def linked(replicate: p.Replicate = "all") -> tuple[c.Data, ...]:
    mapping = p.VaultMapping(V, L, replicate)
    return c.VaultOpened(V, "v", "/v"), c.LinkChanged(OWN, (p.LinkMember(OWN, "Ann", "desk"),), (mapping,))


def fold(state: WorkspaceState, *data: Any) -> WorkspaceState:
    for each in data:
        state = apply(state, event_of(state.seq + 1, each))
    return state


def gated(state: WorkspaceState, before: views.SharedView, n: int) -> views.SharedView:
    return shared_view(state, lambda _vault, note: note != SECRET, before, n)


some = st.sampled_from([*NOTES, SECRET])
actions = st.one_of(
    st.builds(c.ActiveNoteSet, some),
    st.builds(c.NotePinned, some, index=st.none() | st.integers(0, 2)),
    st.builds(c.NoteUnpinned, some),
    st.builds(c.TemporaryTabOpened, some, st.just("search")),
    st.builds(c.NoteRenamed, some, some),
    st.builds(c.SelectionChanged, some, st.just(1), st.just(2)),
)


@settings(max_examples=examples(200))
@given(st.lists(actions, max_size=30))
def test_no_message_names_a_note_that_may_not_leave(steps: list[c.Data]) -> None:
    state, before = fold(EMPTY, *linked()), {}
    for n, step in enumerate(steps, 1):
        state = fold(state, step)
        after = gated(state, before, n)
        changed = views.difference(before, after)
        assert SECRET not in {note for each in changed for note in views.notes_of_difference(each)}
        assert SECRET not in {note for vault in after.values() for note in views.notes_of(vault)}
        before = after


def test_moving_a_note_that_may_not_leave_is_no_message() -> None:
    state = fold(EMPTY, *linked(), c.NotePinned(NOTES[0]), c.NotePinned(SECRET), c.NotePinned(NOTES[1]))
    before = gated(state, {}, 1)
    moved = fold(state, c.PinnedNotesReordered((SECRET, NOTES[0], NOTES[1])))
    assert not views.difference(before, gated(moved, before, 2))
    ordered = fold(moved, c.PinnedNotesReordered((NOTES[1], SECRET, NOTES[0])))
    assert views.difference(before, gated(ordered, before, 2))


def test_of_a_vault_with_pins_alone_nothing_else_leaves_and_of_others_nothing() -> None:
    steps = (c.NotePinned(NOTES[0]), c.ActiveNoteSet(NOTES[1]), c.TemporaryTabOpened(NOTES[2], "search"))
    [pins] = shared_view(fold(EMPTY, *linked("pins"), *steps)).values()
    assert [*views.notes_of(pins)] == [NOTES[0]]
    assert shared_view(fold(EMPTY, *linked("none"), *steps)) == {}
    assert shared_view(fold(EMPTY, c.VaultOpened(V, "v", "/v"), *steps)) == {}


def test_what_peers_do_moves_no_sequence_and_costs_unlinked_logs_nothing() -> None:
    state = fold(EMPTY, c.VaultOpened(V, "v", "/v"), c.NotePinned(NOTES[0]))
    assert state.peers is EMPTY.peers
    seq = state.seq
    assert fold(state, c.LinkChanged(OWN)).seq == seq


def test_what_others_ask_to_forget_swells_no_message() -> None:
    other = OriginId("b" * 32)
    members = p.LinkMember(OWN, "Ann", "desk"), p.LinkMember(other, "Bob", "laptop")
    view = [
        p.SharedVault(
            LinkedVaultId(f"{vault:032x}"),
            forgetting=p.Forgetting(
                tuple(p.AskedName(f"{vault:032x}{number:032x}", 2**53) for number in range(views.ASKS_MAX))
            ),
        )
        for vault in range(views.VAULTS_MAX)
    ]
    heard = c.RemoteEventsApplied(other, p.Position(1, 1), 1, True, tuple(view))
    shared = shared_view(fold(EMPTY, c.LinkChanged(OWN, members), heard))
    told = [each.forgetting.heard for each in shared.values() if each.forgetting is not None]
    assert len(told) == views.VAULTS_MAX and all(told) and sum(map(len, told)) <= views.HEARD_MAX
