"""What an agent is told is what changed since it was told last, and nothing if nothing did."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced_tools.volunteering.sight import Difference, Selected, Sight, difference, notes_of

NAMES = ["a.md", "b.md", "c.md", "d.md", "e/a.md"]
NO_CHANGE = Difference(looks_elsewhere=False)
some_names = st.lists(st.sampled_from(NAMES), unique=True)
sights = st.builds(
    lambda active, pins, tabs, texts, line: sight(active, pins, [n for n in tabs if n not in pins], texts, line),
    st.none() | st.sampled_from(NAMES),
    some_names,
    some_names,
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["1", "2"])),
    st.none() | st.integers(1, 9),
)


def sight(
    active: str | None = None, pins: Any = (), tabs: Any = (), texts: Any = None, line: int | None = None
) -> Sight:
    listed = {active, *pins, *tabs}
    return Sight(
        active=active,
        selection=Selected(start_line=line, end_line=line, text_sha256=None) if active and line else None,
        pins=list(pins),
        more_pins=0,
        tabs=list(tabs),
        versions={note: text for note, text in (texts or {}).items() if note in listed},
        left={},
        at="",
    )


def changed(told: Sight, now: Sight, moves: dict[str, str] | None = None) -> Difference:
    return difference(told, now, pins=dict.fromkeys(now.pins, "1"), moved_to=(moves or {}).get)


@settings(max_examples=examples(300))
@given(sights)
def test_nothing_is_told_if_nothing_changed(seen: Sight) -> None:
    assert changed(seen, seen) == NO_CHANGE


@settings(max_examples=examples(300))
@given(sights, sights)
def test_an_agent_that_keeps_what_it_is_told_knows_what_the_user_has_before_them(told: Sight, now: Sight) -> None:
    found = changed(told, now)
    known_pins = [note for note in told.pins if note not in found.unpinned] + list(found.pinned)
    assert set(known_pins) == set(now.pins)
    active = now.active if found.looks_elsewhere else told.active
    assert active == now.active
    kept = {note for note in told.tabs if note not in found.closed}
    known = {*kept, *found.opened, active, *known_pins, *found.unpinned, told.active}
    assert {*now.tabs, now.active} <= known
    assert not set(found.closed) & {*now.tabs, *now.pins, now.active}
    texts = {note: told.versions[note] for note in told.versions}
    assert all(texts[note] == before != now.versions[note] for note, before in found.edited)
    unsaid = {note for note, sha in now.versions.items() if told.versions.get(note, sha) != sha}
    assert unsaid == {note for note, _before in found.edited}


@settings(max_examples=examples(200))
@given(sights, st.sampled_from(NAMES))
def test_a_renamed_note_is_the_same_note(told: Sight, old: str) -> None:
    def moved(note: str) -> str:
        return "new.md" if note == old else note

    now = Sight(
        active=moved(told.active) if told.active else None,
        selection=told.selection,
        pins=list(map(moved, told.pins)),
        more_pins=0,
        tabs=list(map(moved, told.tabs)),
        versions={moved(note): sha for note, sha in told.versions.items()},
        left={},
        at="",
    )
    renamed = ((old, "new.md"),) if old in notes_of(told) else ()
    assert changed(told, now, {old: "new.md"}) == NO_CHANGE._replace(renamed=renamed)


def test_a_selection_that_ended_is_no_news_and_a_new_one_is() -> None:
    selected, plain = sight("a.md", line=3), sight("a.md")
    assert not changed(selected, plain).looks_elsewhere
    assert changed(plain, selected).looks_elsewhere
    assert changed(sight("a.md", line=4), selected).looks_elsewhere


def test_pins_beyond_those_that_are_compared_are_counted() -> None:
    told, now = sight(pins=NAMES[:2]), sight(pins=NAMES[:2])
    more = now.model_copy(update={"more_pins": 2})
    assert changed(told, more).more_pinned == 2
    assert changed(more, told).more_pinned == 0
    beyond = difference(told, sight(pins=NAMES[1:2]), pins=dict.fromkeys(NAMES, "1"), moved_to={}.get)
    assert not beyond.unpinned
