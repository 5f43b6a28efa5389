"""What the log remembers of notes' visibility, and that it does not leave the machine unasked."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.journals import record
from support.random_log import event_of

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.note_visibility import Visibility, VisibilityFold, without_visibility
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay.json_lines import export_lines, read_export
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

V = VaultId("brain")
A, B, C = (NoteId(f"{name}.md") for name in "abc")
SHOWN, WITHHELD, WITHDRAWN = Visibility.SHOWN, Visibility.WITHHELD, Visibility.WITHDRAWN


def events_of(*data: c.Data, vault: VaultId | None = V) -> list[Event]:
    return [event_of(seq, each, vault, source="workspaced") for seq, each in enumerate(data, start=1)]


def folded(*data: c.Data) -> dict[NoteId, Visibility]:
    fold = VisibilityFold()
    fold.feed(events_of(*data))
    return fold.of(V)


def test_the_last_finding_counts_and_that_a_note_was_shown_is_not_forgotten() -> None:
    assert folded(c.NoteShown(A), c.NoteWithheld(B)) == {A: SHOWN, B: WITHHELD}
    assert folded(c.NoteShown(A), c.NoteWithheld(A)) == {A: WITHDRAWN}
    assert folded(c.NoteShown(A), c.NoteWithheld(A), c.NoteWithheld(A)) == {A: WITHDRAWN}
    assert folded(c.NoteWithheld(A), c.NoteWithheld(A)) == {A: WITHHELD}
    assert folded(c.NoteWithheld(A), c.NoteShown(A)) == {A: SHOWN}
    assert folded() == {}


@pytest.mark.parametrize(
    ("moved", "replaced", "found"),
    [
        (SHOWN, None, SHOWN),
        (WITHHELD, None, WITHHELD),
        (WITHDRAWN, None, WITHDRAWN),
        (SHOWN, WITHHELD, SHOWN),
        (WITHHELD, SHOWN, WITHDRAWN),
        (WITHHELD, WITHDRAWN, WITHDRAWN),
        (WITHHELD, WITHHELD, WITHHELD),
        (WITHDRAWN, WITHHELD, WITHDRAWN),
    ],
)
def test_a_finding_moves_with_its_note(moved: Visibility, replaced: Visibility | None, found: Visibility) -> None:
    def found_as(note: NoteId, seen: Visibility | None) -> list[c.Data]:
        return {
            None: [],
            SHOWN: [c.NoteShown(note)],
            WITHHELD: [c.NoteWithheld(note)],
            WITHDRAWN: [c.NoteShown(note), c.NoteWithheld(note)],
        }[seen]

    assert folded(*found_as(A, moved), *found_as(B, replaced), c.NoteRenamed(A, B)) == {B: found}


def test_vaults_are_apart() -> None:
    fold = VisibilityFold()
    fold.feed(events_of(c.NoteShown(A)))
    fold.feed(events_of(c.NoteWithheld(A), vault=VaultId("other")))
    fold.feed(events_of(c.DaemonStopped("x"), vault=None))
    assert fold.of(V) == {A: SHOWN} and fold.of(VaultId("other")) == {A: WITHHELD} and fold.of(VaultId("no")) == {}


DATA = st.one_of(
    st.builds(c.NoteShown, st.sampled_from([A, B, C])),
    st.builds(c.NoteWithheld, st.sampled_from([A, B, C])),
    st.builds(c.NoteRenamed, st.sampled_from([A, B, C]), st.sampled_from([A, B, C])),
    st.builds(c.ActiveNoteSet, note=st.sampled_from([A, B, C])),
)


@given(st.lists(DATA, max_size=12), st.integers(0, 12))
def test_a_fold_in_two_parts_is_the_fold_of_all(data: list[c.Data], cut: int) -> None:
    events = events_of(*data)
    whole, parts = VisibilityFold(), VisibilityFold()
    whole.feed(events)
    parts.feed(events[:cut])
    early = parts.copy()
    before = early.of(V)
    parts.feed(events[cut:])
    assert parts.by_vault == whole.by_vault
    assert early.of(V) == before, "a copy does not move"


# -- the journal keeps it --


def opened(directory: Path, **options: Any) -> Journal:
    return open_journal(RealDisk(directory), version="t", **options)


@pytest.mark.parametrize("snapshot_events", [2, 10_000])
def test_a_log_opens_with_what_it_knew_with_and_without_a_snapshot(tmp_path: Path, snapshot_events: int) -> None:
    journal = opened(tmp_path, snapshot_events=snapshot_events)
    record(journal, *map(Action, (c.VaultOpened(V, "Brain", "/home/me/brain"),)))
    record(journal, *map(Action, (c.NoteShown(A), c.NoteShown(B), c.NoteWithheld(C))))
    record(journal, *map(Action, (c.NoteWithheld(B), c.NoteRenamed(C, NoteId("d.md")))))
    expected = {A: SHOWN, B: WITHDRAWN, NoteId("d.md"): WITHHELD}
    assert journal.writer.visibility.of(V) == expected
    if snapshot_events > 2:
        journal.log.close()  # as a crash leaves it: no snapshot
    else:
        journal.writer.close()
        assert list((tmp_path / "snapshots").iterdir())
    again = opened(tmp_path)
    assert again.writer.visibility.of(V) == expected
    again.writer.close()


def test_an_export_holds_tombstones_in_the_place_of_findings() -> None:
    events = events_of(c.NotePinned(A), c.NoteShown(A), c.NoteWithheld(B), c.NoteRenamed(A, C))
    left = list(without_visibility(events))
    assert [event.type for event in left] == [
        "note_pinned",
        "record_forgotten",
        "record_forgotten",
        "note_renamed",
    ]
    assert [event.seq for event in left] == [1, 2, 3, 4] and left[0] is events[0]
    assert fold_all(left, EMPTY) == fold_all(events, EMPTY)
    lines = b"".join(export_lines("log", events))
    assert b"b.md" not in lines and b"note_shown" not in lines
    assert list(read_export(lines.splitlines(), "it")) == left
    kept = b"".join(export_lines("log", events, visibility=True))
    assert list(read_export(kept.splitlines(), "it")) == events
