"""Replay: the state that a log folds to, without a daemon."""

from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import Event
from .open import open_source
from .position import Position, feed_until
from .source import Progress, Source


class Replayed(msgspec.Struct, frozen=True):
    """The result of a replay."""

    state: WorkspaceState
    events: int
    """The number of folded events."""
    last_seq: int
    warnings: list[str] = []


def replay(
    source: Source | Path | IO[bytes],
    *,
    until: Position | None = None,
    each: Callable[[list[Event]], None] | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Folds a source from its first event on.

    Args:
        source: or its location (open.py).
        until: the last event to fold: its sequence, or its latest time; default all.
        each: gets every folded batch.
        progress: gets the progress of reading.

    Raises:
        InvalidArgument: the source is no log, or does not reach `until`.
        LogDamaged: the log does not verify; nothing past the damage is folded.
        OSError: a file cannot be read.
    """
    if not isinstance(source, Source):
        with open_source(source) as opened:
            return replay(opened, until=until, each=each, progress=progress)
    state, count, last = source.start, 0, source.start.seq

    def fold(events: list[Event]) -> None:
        nonlocal state, count, last
        state = fold_all(events, state)
        count, last = count + len(events), events[-1].seq
        if each is not None:
            each(events)

    warnings = feed_until(source, until, fold, progress)
    return Replayed(state, count, last, warnings)
