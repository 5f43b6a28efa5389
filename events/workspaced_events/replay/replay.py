"""Replay: the state that a log leads to, without a daemon."""

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
    """What a replay came to."""

    state: WorkspaceState
    events: int
    """How many were folded."""
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
        source: or where it is (source.py).
        until: the last event to fold: its sequence, or the latest time it may have; default all.
        each: is shown every batch that is folded.
        progress: told what is read.

    Raises:
        InvalidArgument: the source is none, or does not reach `until`.
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
