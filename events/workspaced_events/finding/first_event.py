"""Finds the event after which an expression over the state is true first."""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from ..errors import InvalidArgument, NeverTrue, WorkspacedError
from ..escaping import escape_control
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..replay.source import Progress, Source
from ..schema.catalogue import Event
from .expression import Expression


class Found(msgspec.Struct, frozen=True):
    """The event at which the expression becomes true, and the states around it."""

    event: Event
    before: WorkspaceState
    after: WorkspaceState


class _Stop(Exception):
    """Stops reading the source."""


def find_first(source: Source, expression: Expression, *, progress: Progress | None = None) -> Found:
    """The first event of the source after which the expression is true.

    Raises:
        ALREADY_TRUE: the expression is true before the first event.
        NeverTrue: the expression is true after no event.
        InvalidArgument: the expression is invalid, or its vault is unknown to the log.
        LogDamaged, OSError: the source cannot be read far enough.
    """
    found, state = follow(source, expression, lambda _event: None, progress=progress)
    if found is None:
        raise never_true(expression, state)
    return found


def follow(
    source: Source, expression: Expression, passed: Callable[[Event], None], *, progress: Progress | None = None
) -> tuple[Found | None, WorkspaceState]:
    """Like `find_first`; also returns the last state. Calls `passed` with every event up to the one found."""
    state = source.start
    if expression(state):
        where = f"after event {state.seq}" if state.seq else "of the state before the first event"
        raise WorkspacedError(
            f"It is true {where} already, so there is no event at which it becomes true.",
            hint="Look for what is not so at first.",
            seq=state.seq,
            code="ALREADY_TRUE",
        )
    found: Found | None = None

    def search(events: list[Event]) -> None:
        nonlocal state, found
        for event in events:
            passed(event)
            after = apply(state, event)
            if after is not state and not expression.same(state, after) and expression(after):
                found = Found(event, state, after)
                raise _Stop
            state = after

    with suppress(_Stop):
        source.feed(search, progress)
    return found, state


def never_true(expression: Expression, last: WorkspaceState) -> WorkspacedError:
    """The error for an expression that never became true, with a possible cause; `last` is the last state."""
    vault = expression.vault
    if vault is not None and vault not in last.vaults and vault not in last.by_vault:
        known = ", ".join(escape_control(each) for each in last.vaults)
        return InvalidArgument(
            f"The log holds no vault {escape_control(vault)!r}.", hint=f"Its vaults: {known or 'none'}."
        )
    hint = f"It could not always be evaluated: {expression.trouble}." if expression.trouble is not None else ""
    return NeverTrue(f"It is not true after any event up to {last.seq}.", hint=hint, seq=last.seq)
