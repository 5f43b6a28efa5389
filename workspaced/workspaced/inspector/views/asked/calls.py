"""Who asked what, when, how long it took, and how much was answered: the latest calls first."""

from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import ContextVolunteered, Event
from workspaced_tools.prompts.model.token_estimate import estimate_tokens
from workspaced_tools.recording.reading import Blob
from workspaced_tools.recording.recorded_calls import Listed, Wanted, listed, result_of

from .... import replay
from ...inspected import Inspected
from .call import told_in

CALLS_MAX: Final = 200
_LOOKED_AT_MAX: Final = 5_000
"""Calls that one request looks at; a filter may take few of them."""


class CallsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which calls. What is left out filters nothing."""

    tool: str | None = None
    """Its whole name; `volunteer_context` is what agents were told without asking."""
    caller: str | None = None
    """Compared as the share policy does."""
    failed: bool = False
    """Only failed calls."""
    before: int | None = None
    """Only calls before this event."""
    limit: int = 50


class Calls(msgspec.Struct, rename="camel"):
    """Some calls, and where the next ones begin."""

    calls: list[Listed]
    """The latest first."""
    before: int | None
    """Ask with it for the calls before these; null: there are none."""


def calls(inspected: Inspected, parameters: CallsParameters) -> Calls:
    """The latest calls that pass the filters. May give fewer than `limit` though there are more: see `before`.

    Raises:
        InvalidArgument: the limit is out of its range.
    """
    if not 1 <= parameters.limit <= CALLS_MAX:
        raise InvalidArgument(f"Expected a limit of 1 to {CALLS_MAX} calls, got {parameters.limit}.")
    wanted = Wanted(parameters.tool, parameters.caller, parameters.failed)
    found: list[Listed] = []
    before = parameters.before if parameters.before is not None else inspected.log.end.seq + 1
    for looked_at, event in enumerate(inspected.log.events_of(replay.CALL_TYPES, before=before)):
        if len(found) == parameters.limit or looked_at == _LOOKED_AT_MAX:
            return Calls(found, event.seq + 1)
        if wanted.takes(event):
            found.append(_row(event, inspected.log.blob))
    return Calls(found, None)


def _row(event: Event, blob: Blob) -> Listed:
    row = listed(event, blob)
    # The bytes of what was told are those of its text: the tokens are to be of the same.
    text = told_in(result_of(event.data, blob)) if isinstance(event.data, ContextVolunteered) else None
    return row if text is None else replace(row, tokens=estimate_tokens(text))
