"""What a UI publishes, for benchmarks: a session over a few dozen notes, equal for equal arguments."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from workspaced_events.journal.actions import Action, parse_actions

NOTES: Final = tuple(f"projects/Küche plan {number}.md" for number in range(40))

MIX: Final = "50 % active_note_set, 25 % temporary_tab_opened, 15 % selection_changed, 10 % pinned or unpinned"


def session(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """`count` actions in JSON's shape, without ids, mixed as MIX says."""
    random = Random(seed)
    active = NOTES[0]
    for _ in range(count):
        note = NOTES[int(random.random() ** 2 * len(NOTES))]
        kind = random.random()
        if kind < 0.5:
            active = note
            yield {"type": "active_note_set", "data": {"note": note}}
        elif kind < 0.75:
            yield {"type": "temporary_tab_opened", "data": {"note": note, "source": "wikilink"}}
        elif kind < 0.9:
            line = 1 + int(random.random() * 80)
            yield {"type": "selection_changed", "data": {"note": active, "startLine": line, "endLine": line + 2}}
        else:
            yield {"type": "note_pinned" if kind < 0.95 else "note_unpinned", "data": {"note": note}}


def checked_session(count: int) -> list[Action]:
    """The same, as the recorder takes them."""
    raw = list(session(count))
    return [
        action
        for start in range(0, count, 1_000)
        for action in parse_actions(raw[start : start + 1_000], keep_text=lambda _text: "")
    ]
