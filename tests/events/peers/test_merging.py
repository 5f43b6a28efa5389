"""The pins of one person's machines, merged."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from workspaced_events.clock import AHEAD_MS_MAX, next_ms
from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers.merging import merged_pins, removed_by_peers
from workspaced_events.schema.peer_events import Heard, Removal, SharedPin, SharedVault

A, B, C = (OriginId(name) for name in "abc")
V = LinkedVaultId("v")


def pin(note: str, ms: int, n: int = 1) -> SharedPin:
    return SharedPin(NoteId(note), ms * 1_000, ms, n)


def vault(
    *pins: SharedPin, ordered_ms: int = 0, removed: dict[str, dict[OriginId, int]] | None = None
) -> SharedVault:
    removals = tuple(
        Removal(NoteId(note), 1, tuple(Heard(origin, n) for origin, n in heard.items()))
        for note, heard in (removed or {}).items()
    )
    return SharedVault(V, pins=pins, ordered_ms=ordered_ms, removals=removals)


def notes(vaults: dict[OriginId, SharedVault], own: OriginId | None = None) -> list[str]:
    return [each.note for each in merged_pins(vaults, own)]


def test_a_pin_stands_once_where_the_latest_order_by_hand_has_it_else_as_it_was_made() -> None:
    assert notes({A: vault(pin("late", 5), pin("early", 1)), B: vault(pin("middle", 3))}) == [
        "early",
        "middle",
        "late",
    ]
    one = vault(pin("x", 1), pin("y", 2), ordered_ms=9)
    other = vault(pin("y", 3), pin("z", 0), pin("x", 4), ordered_ms=10)
    assert notes({A: one, B: other}) == ["y", "z", "x"]
    assert notes({A: one, B: other, C: vault(pin("w", 1))}) == ["y", "z", "x", "w"]
    [found] = merged_pins({A: vault(pin("x", 5)), B: vault(pin("x", 3))})
    assert found.origins == (A, B) and found.pinned_us == 3_000


def test_a_removal_hides_what_had_been_heard_of_and_no_later_pin() -> None:
    removed = vault(removed={"x": {A: 4}})
    assert notes({A: vault(pin("x", 1, 4)), B: removed}) == []
    assert notes({A: vault(pin("x", 1, 5)), B: removed}) == ["x"]
    assert notes({A: vault(pin("x", 1, 4)), B: removed, C: vault(pin("x", 1, 1))}) == ["x"]


def test_own_pins_are_shown_until_this_machine_has_unpinned_them() -> None:
    vaults = {A: vault(pin("x", 1, 4)), B: vault(removed={"x": {A: 4}})}
    assert notes(vaults, A) == ["x"]
    assert removed_by_peers(A, vaults[A], [vaults[B]]) == ["x"]
    assert removed_by_peers(A, vault(pin("x", 1, 5)), [vaults[B]]) == []


pins = st.builds(pin, st.sampled_from("uvwxyz"), st.integers(0, 3), st.integers(1, 3))
some_vaults = st.builds(
    lambda pins, ordered, removed: vault(
        *{each.note: each for each in pins}.values(), ordered_ms=ordered, removed=removed
    ),
    st.lists(pins, max_size=4),
    st.integers(0, 2),
    st.dictionaries(
        st.sampled_from("uvwxyz"), st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 3)), max_size=2
    ),
)


@given(some_vaults, some_vaults, some_vaults)
def test_the_order_of_hearing_does_not_matter(one: SharedVault, other: SharedVault, third: SharedVault) -> None:
    vaults = {A: one, B: other, C: third}
    merged = {merged_pins(dict(order)) for order in permutations(vaults.items())}
    assert len(merged) == 1


def test_the_clock_never_goes_back_and_follows_what_was_heard_unless_that_is_a_wrong_clock() -> None:
    assert next_ms(100, 90, 0) == 100
    assert next_ms(100, 150, 120) == 150
    assert next_ms(100, 90, 100 + AHEAD_MS_MAX) == 100 + AHEAD_MS_MAX
    assert next_ms(100, 90, 101 + AHEAD_MS_MAX) == 100
