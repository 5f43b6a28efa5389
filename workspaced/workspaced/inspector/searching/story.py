"""The few events of a shrunk log as a story: what each of them was, and what it changed."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from workspaced_events.ids import VaultId
from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState, to_json
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.sentences import sentence


class Step(msgspec.Struct, rename="camel"):
    """One event of a story, or the event that was found."""

    seq: int
    """In the shrunk log, or in the inspected one."""
    origin: int | None
    """The same event's sequence in the inspected log; null: it stands for what was before the log's beginning."""
    time: str
    type: str
    source: str
    words: str
    """What happened, as the rest of a sentence that begins with the source."""
    changes: list[str]
    """How the state differs from the one before, as lines."""


def story(events: Sequence[Event], origins: Mapping[str, int]) -> Iterator[Step]:
    """The steps of a log that begins with nothing.

    Args:
        origins: for ids of events their sequences in the inspected log.
    """
    state = EMPTY
    for event in events:
        after = apply(state, event)
        yield step(event, origins.get(event.id), state, after)
        state = after


def step(
    event: Event, origin: int | None, before: WorkspaceState, after: WorkspaceState, vault: VaultId | None = None
) -> Step:
    """An event and what it changed in a vault; None: in the current one."""
    changed = lines(changes(to_json(before, vault), to_json(after, vault)))
    return Step(event.seq, origin, event.time, event.type, event.source, sentence(event), changed)
