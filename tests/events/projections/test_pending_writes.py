"""The writes to the memory folder without an end: folded from the log, and kept by snapshots."""

from support.random_log import V, opened, recorded

from workspaced_events.ids import NoteId
from workspaced_events.journal.snapshots import Snapshot, encode, parse
from workspaced_events.log.scan import Tail
from workspaced_events.projections.note_visibility import VisibilityFold
from workspaced_events.projections.pending_writes import PendingWrite, PendingWrites
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c

ONE, TWO = (c.MemoryWritten(NoteId(f"Memory/{name}.md"), "delete", "agent", "0" * 64) for name in ("one", "two"))


def folded(*data: c.Data) -> PendingWrites:
    """The fold of a log whose second event is the first of these."""
    pending = PendingWrites()
    pending.feed(recorded(*opened(V), *data))
    return pending


def test_a_write_is_pending_until_its_end() -> None:
    assert folded(ONE, TWO).by_seq == {2: PendingWrite(V, ONE), 3: PendingWrite(V, TWO)}
    assert folded(ONE, TWO, c.MemoryWriteEnded(2, "done")).by_seq == {3: PendingWrite(V, TWO)}
    assert folded(ONE, c.MemoryWriteEnded(2, "failed"), c.MemoryWriteEnded(7, "done")).by_seq == {}


def test_a_copy_does_not_follow() -> None:
    pending = folded(ONE)
    copy = pending.copy()
    pending.feed(recorded(*opened(V), ONE, c.MemoryWriteEnded(2, "done")))
    assert (pending.by_seq, copy.by_seq) == ({}, {2: PendingWrite(V, ONE)})


def test_a_snapshot_keeps_it() -> None:
    snapshot = Snapshot(
        log="log",
        tail=Tail(),
        positions=[],
        last_time="",
        state=EMPTY,
        ids={},
        visibility=VisibilityFold(),
        pending=folded(ONE),
    )
    read = parse(encode(snapshot), Snapshot)
    assert read is not None and read.pending == folded(ONE)
