"""From "my pins are in the wrong order" to a regression test of five lines.

A wrong fold is planted: a pin loses its place when its note is renamed. Nobody knows that yet. There is a log of
10,000 events, and somebody who sees that at its end the pins stand in the wrong order.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from support import random_log as logs
from support.stored_logs import as_export

from workspaced import replay
from workspaced.cli import run
from workspaced_events.errors import NeverTrue
from workspaced_events.ids import NoteId
from workspaced_events.projections import workspace_fold
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Data, Event

EVENTS = 10_000
NOTES = [NoteId(f"work/note {number}.md") for number in range(10)]
WRONG_ORDER = "pinnedNotes != sort_by(pinnedNotes, &pinnedAt)"
"""Nobody ever moves a pin here, so they stand in the order in which they were pinned, or there is a bug."""


def a_year_of_work() -> list[Event]:
    """Pinning, unpinning and looking around; at last every note is moved to an archive."""
    random = Random(6)

    def something() -> Data:
        kinds = (c.ActiveNoteSet, c.NotePinned, c.NoteUnpinned, lambda note: c.TemporaryTabOpened(note, "search"))
        return random.choice(kinds)(random.choice(NOTES))  # type: ignore[operator,no-any-return]

    moved = [c.NoteRenamed(note, NoteId(note.replace("work/", "archive/"))) for note in NOTES]
    begun = logs.opened(logs.V)
    worked = [something() for _ in range(EVENTS - len(begun) - len(moved))]
    recorded: list[Event] = logs.recorded(*begun, *worked, *moved)
    return recorded


def renamed_and_put_last(state: VaultState, event: Event, data: c.NoteRenamed) -> VaultState:
    """The planted bug: as the fold does it, but a pin that is renamed goes to the end."""
    after = workspace_fold._note_renamed(state, event, data)
    if data.from_ not in state.pins:
        return after
    others = {note: pin for note, pin in after.pins.items() if note != data.to}
    return replace(after, pins={**others, data.to: after.pins[data.to]})


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The program has the bug; `undo` mends it."""
    with monkeypatch.context() as patch:
        patch.setitem(workspace_fold._VAULT_FOLDS, c.NoteRenamed, renamed_and_put_last)
        yield patch


def test_a_bug_in_10_000_events_becomes_a_regression_test(
    planted: pytest.MonkeyPatch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    as_export(Path("session.jsonl"), a_year_of_work())

    def workspaced(*arguments: str) -> Any:
        capsys.readouterr()
        assert run(list(arguments)) == 0
        out = capsys.readouterr().out
        return json.loads(out) if "--json" in arguments else out

    # At which event does it begin? With a rename.
    found = workspaced("log", "find", "session.jsonl", "--when", WRONG_ORDER, "--json")
    assert found["event"]["type"] == "note_renamed"
    assert found["seq"] > EVENTS - len(NOTES)

    # What of all that came before does it take? A vault, two pins, and the rename of the first.
    shrunk = workspaced("log", "shrink", "session.jsonl", "--when", WRONG_ORDER, "-o", "small.jsonl", "--json")
    assert (shrunk["from"], shrunk["to"]) == (found["seq"], 4)
    with replay.open("small.jsonl") as small:
        kinds = [event.type for event in small.events()]
        assert kinds == ["vault_opened", "note_pinned", "note_pinned", "note_renamed"]

    # That goes into one file, which the bug report carries.
    workspaced("log", "import", "small.jsonl", "--data-dir", "data")
    workspaced("bundle", "-o", "bug.wsb", "--data-dir", "data")

    # And this is the regression test: it fails as long as the bug is there, and passes once it is mended.
    def test_a_renamed_pin_keeps_its_place() -> None:
        with replay.open("bug.wsb") as log:
            before, after = log.at(3), log.end
            for moment, names in ((before, ["a.md", "b.md"]), (after, ["c.md", "b.md"])):
                pinned = moment.call("get_workspace_context")["data"]["pinnedNotes"]
                assert [pin["id"] for pin in pinned] == names

    with pytest.raises(AssertionError):
        test_a_renamed_pin_keeps_its_place()
    planted.undo()
    test_a_renamed_pin_keeps_its_place()

    # The whole log is right again too.
    with replay.open("session.jsonl") as session, pytest.raises(NeverTrue):
        session.find(WRONG_ORDER)
