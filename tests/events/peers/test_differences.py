"""What leads from one shared view to another is in their difference, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers.differences import (
    SharedView,
    apply_difference,
    difference,
    in_order_of_removals,
    in_order_of_renames,
    notes_of,
    notes_of_difference,
    view_of,
)
from workspaced_events.schema.peer_events import (
    Forgetting,
    Heard,
    Removal,
    SharedActive,
    SharedPin,
    SharedRename,
    SharedSelection,
    SharedTab,
    SharedVault,
)

N = 7
"""The message that brings what is new."""
notes = st.sampled_from([NoteId(f"{name}.md") for name in "abcdef"])
small = st.integers(0, 3)
hashes = st.sampled_from(["0" * 64, "1" * 64])


@st.composite
def vaults(draw: st.DrawFn) -> SharedVault:
    pinned = draw(st.lists(notes, unique=True))
    removed = draw(st.lists(notes, unique=True, max_size=3))
    former = draw(st.lists(notes, unique=True, max_size=3))
    return SharedVault(
        vault=LinkedVaultId("v"),
        active=draw(st.none() | st.builds(SharedActive, notes, small)),
        selection=draw(st.none() | st.builds(SharedSelection, notes, small, small)),
        pins=tuple(SharedPin(note, draw(small), draw(small), draw(small)) for note in pinned),
        ordered_ms=draw(small),
        tabs=tuple(draw(st.lists(st.builds(SharedTab, notes, small), max_size=3))),
        renames=in_order_of_renames(SharedRename(note, draw(notes)) for note in former),
        removals=in_order_of_removals(
            Removal(note, draw(small), (Heard(OriginId("o"), draw(small)),)) for note in removed
        ),
        forgetting=draw(st.none() | st.builds(Forgetting, st.tuples(hashes), st.just(()) | st.tuples(hashes))),
    )


def following(before: SharedView, after: SharedView) -> SharedView:
    """`after` as an origin makes it: what it had before keeps its number, the rest comes with this message."""

    def numbered(vault: SharedVault) -> SharedVault:
        known = {(pin.note, pin.pinned_us, pin.ms): pin for each in before.values() for pin in each.pins}
        pins = (known.get((pin.note, pin.pinned_us, pin.ms)) or replace(pin, n=N) for pin in vault.pins)
        return replace(vault, pins=tuple(pins))

    return {vault: numbered(each) for vault, each in after.items()}


@given(vaults(), vaults())
def test_a_difference_leads_to_the_view_that_it_was_made_of(one: SharedVault, other: SharedVault) -> None:
    before = view_of([one])
    after = following(before, view_of([other]))
    changed = difference(before, after)
    assert apply_difference(before, changed, N) == after
    assert bool(changed) == (before != after)


@given(vaults(), vaults())
def test_a_difference_names_no_note_that_neither_view_names(one: SharedVault, other: SharedVault) -> None:
    changed = difference(view_of([one]), view_of([other]))
    assert {note for each in changed for note in notes_of_difference(each)} <= {*notes_of(one), *notes_of(other)}


def test_a_vault_of_which_nothing_is_shared_any_more_goes() -> None:
    before = view_of([SharedVault(LinkedVaultId("v"), SharedActive(NoteId("a.md"), 1))])
    assert apply_difference(before, difference(before, {}), N) == {}


def test_a_pin_that_was_undone_and_made_again_is_another_pin() -> None:
    def pinned(us: int, n: int) -> SharedView:
        return view_of([SharedVault(LinkedVaultId("v"), pins=(SharedPin(NoteId("a.md"), us, us, n),))])

    assert apply_difference(pinned(1, 1), difference(pinned(1, 1), pinned(2, N)), N) == pinned(2, N)
