"""Replay: the state that a log leads to, without a daemon.

A source is a data directory (or its `log` directory), the file of an export, or a binary stream of one.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import msgspec

from .catalogue import Event
from .errors import InvalidArgument
from .export import read_export
from .fold import fold_all
from .journal import read_journal
from .log.scan import DIRECTORY, Sink
from .state import EMPTY, WorkspaceState

_CHUNK_EVENTS = 10_000


class Replayed(msgspec.Struct, frozen=True):
    """What a replay came to."""

    state: WorkspaceState
    events: int
    """How many were folded."""
    last_seq: int
    warnings: list[str] = []


class _Reached(Exception):
    """The sequence to stop at was folded."""


def replay(
    source: Path | IO[bytes],
    *,
    until: int | None = None,
    each: Callable[[list[Event]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replayed:
    """Folds a source from its first event on.

    Args:
        source: see above.
        until: the last sequence to fold; default all.
        each: is shown every batch that is folded.
        progress: told (segments done, of how many) for a data directory.

    Raises:
        InvalidArgument: the source is none, or does not reach `until`.
        LogDamaged: the log does not verify; nothing past the damage is folded.
        OSError: a file cannot be read.
    """
    if until is not None and until < 0:
        raise InvalidArgument(f"Expected a sequence from 0 on, got {until}.")
    state, count, last = EMPTY, 0, 0

    def fold(events: list[Event]) -> None:
        nonlocal state, count, last
        if until is not None and events[-1].seq > until:
            events = [event for event in events if event.seq <= until]
        if events:
            state = fold_all(events, state)
            count, last = count + len(events), events[-1].seq
            if each is not None:
                each(events)
        if last == until:
            raise _Reached

    warnings: list[str] = []
    try:
        if until != 0:
            warnings = _feed(source, fold, progress)
    except _Reached:
        pass
    if until is not None and last < until:
        raise InvalidArgument(f"Expected a sequence from 0 to {last}, got {until}.")
    return Replayed(state, count, last, warnings)


def _feed(source: Path | IO[bytes], sink: Sink, progress: Callable[[int, int], None] | None) -> list[str]:
    if not isinstance(source, Path):
        _feed_lines(source, "standard input", sink)
        return []
    if source.is_dir():
        return _feed_directory(source, sink, progress)
    if not source.exists():
        raise InvalidArgument(f"There is no {source}.", hint="Give a data directory, an export, or - for stdin.")
    with source.open("rb") as file:
        _feed_lines(file, source.name, sink)
    return []


def _feed_directory(source: Path, sink: Sink, progress: Callable[[int, int], None] | None) -> list[str]:
    root = source.parent if source.name == DIRECTORY and not (source / DIRECTORY).is_dir() else source
    if not (root / DIRECTORY).is_dir():
        raise InvalidArgument(f"{source} holds no log.", hint="Give the daemon's data directory.")
    scan = read_journal(root, sink, progress=progress)
    if scan.damage is not None:
        raise scan.damage
    if scan.torn is not None:
        scan.warnings.append(
            f"log/{scan.torn.segment} ends with {scan.torn.bytes} bytes of a line that was never completed."
        )
    return scan.warnings


def _feed_lines(lines: Iterable[bytes], name: str, sink: Sink) -> None:
    chunk: list[Event] = []
    for event in read_export(lines, name):
        chunk.append(event)
        if len(chunk) >= _CHUNK_EVENTS:
            sink(chunk)
            chunk = []
    if chunk:
        sink(chunk)
