"""What leads from one shared view to another is in their difference, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers import differences as d
from workspaced_events.schema import peer_events as p

N = 7
"""The message that brings what is new."""
notes = st.sampled_from([NoteId(f"{name}.md") for name in "abcdef"])
small = st.integers(0, 3)
hashes = st.sampled_from(["0" * 64, "1" * 64])


@st.composite
def vaults(draw: st.DrawFn) -> p.SharedVault:
    pinned = draw(st.lists(notes, unique=True))
    removed = draw(st.lists(notes, unique=True, max_size=3))
    former = draw(st.lists(notes, unique=True, max_size=3))
    return p.SharedVault(
        vault=LinkedVaultId("v"),
        active=draw(st.none() | st.builds(p.SharedActive, notes, small)),
        selection=draw(st.none() | st.builds(p.SharedSelection, notes, small, small)),
        pins=tuple(p.SharedPin(note, draw(small), draw(small), draw(small)) for note in pinned),
        ordered_ms=draw(small),
        tabs=tuple(draw(st.lists(st.builds(p.SharedTab, notes, small), max_size=3))),
        renames=d.in_order_of_renames(p.SharedRename(note, draw(notes)) for note in former),
        removals=d.in_order_of_removals(
            p.Removal(note, draw(small), (p.Heard(OriginId("o"), draw(small)),)) for note in removed
        ),
        forgetting=draw(st.none() | st.builds(p.Forgetting, st.tuples(hashes), st.just(()) | st.tuples(hashes))),
    )


def following(before: d.SharedView, after: d.SharedView) -> d.SharedView:
    """`after` as an origin makes it: what it had before keeps its number, the rest comes with this message."""

    def numbered(vault: p.SharedVault) -> p.SharedVault:
        known = {(pin.note, pin.pinned_us, pin.ms): pin for each in before.values() for pin in each.pins}
        pins = (known.get((pin.note, pin.pinned_us, pin.ms)) or replace(pin, n=N) for pin in vault.pins)
        return replace(vault, pins=tuple(pins))

    return {vault: numbered(each) for vault, each in after.items()}


@given(vaults(), vaults())
def test_a_difference_leads_to_the_view_that_it_was_made_of(one: p.SharedVault, other: p.SharedVault) -> None:
    before = d.view_of([one])
    after = following(before, d.view_of([other]))
    changed = d.difference(before, after)
    assert d.apply_difference(before, changed, N) == after
    assert bool(changed) == (before != after)


@given(vaults(), vaults())
def test_a_difference_names_no_note_that_neither_view_names(one: p.SharedVault, other: p.SharedVault) -> None:
    changed = d.difference(d.view_of([one]), d.view_of([other]))
    named = {note for each in changed for note in d.notes_of_difference(each)}
    assert named <= {*d.notes_of(one), *d.notes_of(other)}


def test_a_vault_of_which_nothing_is_shared_any_more_goes() -> None:
    before = d.view_of([p.SharedVault(LinkedVaultId("v"), p.SharedActive(NoteId("a.md"), 1))])
    assert d.apply_difference(before, d.difference(before, {}), N) == {}


def test_a_pin_that_was_undone_and_made_again_is_another_pin() -> None:
    def pinned(us: int, n: int) -> d.SharedView:
        return d.view_of([p.SharedVault(LinkedVaultId("v"), pins=(p.SharedPin(NoteId("a.md"), us, us, n),))])

    assert d.apply_difference(pinned(1, 1), d.difference(pinned(1, 1), pinned(2, N)), N) == pinned(2, N)
