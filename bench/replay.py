"""Replay and opening: how fast a log is verified, decoded and folded, and how long a start takes by its length."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.log.disk import RealDisk, RealFile
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c

from .daemon import Place
from .measure import Figure, at_least, at_most, interleaved, median, progress, seconds
from .session import MIX, checked_session

EVENTS_A_LINE: Final = 16
OPENED_SHARES: Final = (20, 4, 1)
"""Logs of a twentieth, a quarter and all of the events are opened."""


class _UnsyncedDisk(RealDisk):
    """Syncs nothing: a log that is only to be read is made faster that way."""

    def open(self, name: str, *, create: bool = False) -> RealFile:
        file = super().open(name, create=create)
        file.sync = lambda: None  # type: ignore[method-assign]
        return file


def make_log(directory: Path, events: int, events_a_line: int) -> None:
    """A log of that many events of a session, so many a line, closed in good order."""
    append_all(directory, [Action(c.VaultOpened(VaultId("bench"), "bench", "/bench"))], 1)
    append_all(directory, checked_session(events - 1), events_a_line)


def append_all(directory: Path, actions: list[Action], events_a_line: int) -> None:
    """Appends actions of the current vault to a log, so many a line, and closes it in good order."""
    recorder = open_journal(_UnsyncedDisk(directory), version="bench").writer
    for start in range(0, len(actions), events_a_line):
        recorder.submit(actions[start : start + events_a_line], "bench", _check)
        for done, outcome in recorder.commit().outcomes:
            done(outcome)
    recorder.close()


def _check(outcome: Outcome) -> None:
    if not isinstance(outcome, list):
        raise outcome


def speed(at: Place) -> Iterator[Figure]:
    """Events a second, read only and opened for writing."""
    count = at.sizes.replay_events
    progress(f"making logs of {count} events")
    log = at.new("log")
    make_log(log, count, EVENTS_A_LINE)
    thin, thin_count = at.new("thin-log"), count // 4
    make_log(thin, thin_count, 1)
    copy = at.new("copy")
    shutil.copytree(log, copy)
    folds, opens, thins = interleaved(
        at.sizes.rounds,
        lambda: count / seconds(lambda: _replayed(log, count)),
        lambda: count / _folded_s(copy, count),
        lambda: thin_count / seconds(lambda: _replayed(thin, thin_count)),
    )
    fields = {"events": count, "events_a_line": EVENTS_A_LINE, "rounds": at.sizes.rounds, "note": MIX}
    unit = "events/s"
    fold = "replay.verify_decode_fold"
    yield Figure(fold, median(folds), unit, at_least(300_000), at_least(500_000), {**fields, "best": max(folds)})
    yield Figure(
        f"{fold}_id_window",
        median(opens),
        unit,
        at_least(200_000),
        at_least(400_000),
        {**fields, "best": max(opens)},
    )
    yield Figure(
        f"{fold}.1_a_line",
        median(thins),
        unit,
        fields={**fields, "events": thin_count, "events_a_line": 1, "best": max(thins)},
    )


def opening(at: Place) -> Iterator[Figure]:
    """From a closed data directory to a journal that takes actions, by length."""
    lengths = [at.sizes.replay_events // share for share in OPENED_SHARES]
    logs = [at.new("log") for _ in lengths]
    progress(f"making logs of {lengths} events")
    for log, length in zip(logs, lengths, strict=True):
        make_log(log, length, EVENTS_A_LINE)
    ways = [(log, length, kept) for log, length in zip(logs, lengths, strict=True) for kept in (True, False)]
    taken = interleaved(at.sizes.rounds, *(_opening(*way) for way in ways))
    for (_log, length, kept), opened_s in zip(ways, taken, strict=True):
        fields = {"events": length, "events_a_line": EVENTS_A_LINE, "rounds": len(opened_s)}
        name, value = f"replay.open.{length}_events", 1_000 * median(opened_s)
        if kept:
            yield Figure(name, value, "ms", at_most(100), at_most(50), fields)
        else:
            yield Figure(f"{name}.no_snapshot", value, "ms", fields=fields)


def _opening(log: Path, length: int, kept: bool) -> Callable[[], float]:
    return lambda: seconds(lambda: _opened(log, length)) if kept else _folded_s(log, length)


def _folded_s(log: Path, count: int) -> float:
    """Seconds to open a log without its snapshots; closing it makes one anew."""
    shutil.rmtree(log / "snapshots")
    return seconds(lambda: _opened(log, count))


def _replayed(log: Path, count: int) -> None:
    assert replay(log).events == count


def _opened(log: Path, count: int) -> None:
    journal = open_journal(RealDisk(log), version="bench")
    assert journal.writer.state.seq == journal.log.tail.seq == count, (journal.writer.state.seq, count)
    journal.writer.close()
