"""What is worth looking at in a log, newest first: each one sentence with its evidence.

Found are prompts that held a note in an older version than it had by then, prompts that did without a note that a
compaction had left out and the user asked about, calls that failed, and notes that were withheld while the user
looked at them.
"""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.recording.recorded_calls import listed

from .... import replay
from ...inspected import Inspected
from .compactions import compacted
from .finding import Evidence, Finding
from .older_notes import older
from .withheld_notes import withheld

_SEARCHED_EVENTS: Final = 10_000
"""Events that one answer looks at, backwards."""
_FINDINGS_MAX: Final = 100
_TYPES: Final = (*replay.CALL_TYPES, "prompt_assembled", "note_changed", "note_withheld")


class FindingsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which findings."""

    before: Annotated[int, Meta(ge=1)] | None = None
    """Only what was before this sequence; left out: the newest."""


class Findings(msgspec.Struct, rename="camel"):
    """What is worth looking at, newest first."""

    findings: list[Finding]
    left_out: int
    """Older findings that are not listed; ask with `before`."""
    searched_from: int | None
    """The first sequence that was looked at; null: the log's beginning."""


def findings(inspected: Inspected, parameters: FindingsParameters) -> Findings:
    """The findings of one stretch of the log, read backwards."""
    log = inspected.log
    stretch: list[Event] = []
    searched_from = None
    for event in log.events_of(_TYPES, before=parameters.before or log.end.seq + 1):
        stretch.append(event)
        if len(stretch) == _SEARCHED_EVENTS:
            searched_from = event.seq
            break
    every = (*older(log, stretch), *compacted(log, stretch), *_failed(log, stretch), *withheld(log, stretch))
    found = sorted(every, key=lambda each: -each.seq)
    return Findings(found[:_FINDINGS_MAX], max(0, len(found) - _FINDINGS_MAX), searched_from)


def _failed(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    for event in stretch:
        if not isinstance(event.data, c.ToolCalled) or event.data.ok:
            continue
        row = listed(event, log.blob)
        sentence = f"{row.caller} asked {row.tool} and got {row.code or 'an error'}"
        evidence = [Evidence(f"call {event.seq}", ["call", str(event.seq)])]
        yield Finding(event.seq, event.time, "failedCall", sentence, evidence)
