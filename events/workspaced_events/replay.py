"""Replay: the state that a log leads to, without a daemon."""

from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from .catalogue import Event
from .errors import InvalidArgument
from .fold import fold_all
from .source import Progress, Source, open_source
from .state import WorkspaceState


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
    source: Source | Path | IO[bytes],
    *,
    until: int | None = None,
    each: Callable[[list[Event]], None] | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Folds a source from its first event on.

    Args:
        source: or where it is (source.py).
        until: the last sequence to fold; default all.
        each: is shown every batch that is folded.
        progress: told what is read.

    Raises:
        InvalidArgument: the source is none, or does not reach `until`.
        LogDamaged: the log does not verify; nothing past the damage is folded.
        OSError: a file cannot be read.
    """
    if until is not None and until < 0:
        raise InvalidArgument(f"Expected a sequence from 0 on, got {until}.")
    if not isinstance(source, Source):
        with open_source(source) as opened:
            return replay(opened, until=until, each=each, progress=progress)
    state, count, last = source.start, 0, source.start.seq

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
            warnings = source.feed(fold, progress)
    except _Reached:
        pass
    if until is not None and last < until:
        raise InvalidArgument(f"Expected a sequence from 0 to {last}, got {until}.")
    return Replayed(state, count, last, warnings)
