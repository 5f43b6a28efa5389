"""Coverage: of the notes that agents were given, which were used, which were not, and of which nobody knows."""

from itertools import islice
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_tools.recording.coverage import GivenNote, NoteCoverage, Status, UsedNote
from workspaced_tools.recording.coverage import coverage as coverage_of

from .... import replay
from ...inspected import Inspected

NOTES_MAX: Final = 200
EXAMPLES_MAX: Final = 20
"""Of what one note was given by, or used by; the counts are of all."""
READ_MAX: Final = 2_000
"""The last so many calls and prompts of a range are read."""
_GIVING: Final = ("prompt_assembled", *replay.CALL_TYPES)
_ORDER: Final[dict[Status, int]] = {"unused": 0, "unknown": 1, "used": 2}


class CoverageParameters(msgspec.Struct, rename={"begin": "from", "end": "to"}, forbid_unknown_fields=True):
    """Which part of the log."""

    begin: int | None = None
    """The first sequence; left out: the log's first."""
    end: int | None = None
    """The last sequence."""
    status: Status | None = None
    """Only notes of this status."""
    offset: int = 0
    limit: int = 100


class CoveredNote(msgspec.Struct, rename="camel"):
    """One note."""

    note: str
    status: Status
    bytes: int
    """Of all times that it was given."""
    tokens: int
    """Estimated, of all times."""
    given: list[GivenNote]
    """The last ones."""
    given_count: int
    used: list[UsedNote]
    """The first ones."""
    used_count: int
    unknown_to: list[str]
    """The clients of which the log holds no answer after they had the note."""


class StatusTotal(msgspec.Struct, rename="camel"):
    """All notes of one status."""

    status: Status
    notes: int
    bytes: int
    tokens: int


class CoverageShown(msgspec.Struct, rename="camel"):
    """The notes: the unused first, then the unknown, then the used; each the largest first."""

    first: int
    """The sequence from which on calls and prompts were read."""
    last: int
    is_cut: bool
    """Whether the range holds earlier ones that were not read."""
    read: int
    """Calls, prompts and volunteered texts that were read."""
    not_kept: int
    """Those whose content is not kept."""
    totals: list[StatusTotal]
    notes: list[CoveredNote]
    notes_total: int


def coverage(inspected: Inspected, parameters: CoverageParameters) -> CoverageShown:
    """Follows the notes that were given in a part of the log, up to the part's end.

    Raises:
        InvalidArgument: the range or the limit makes no sense.
    """
    if not 1 <= parameters.limit <= NOTES_MAX or parameters.offset < 0:
        raise InvalidArgument(f"Expected a limit from 1 to {NOTES_MAX} and an offset of at least 0.")
    log = inspected.log
    last = log.end.seq if parameters.end is None else min(parameters.end, log.end.seq)
    # The last that give an agent something, at most one more than are read.
    giving = islice(log.events_of(_GIVING, before=last + 1), READ_MAX + 1)
    events = [event for event in giving if event.seq >= (parameters.begin or 0)][::-1]
    read = events[-READ_MAX:]
    conversations = log.at(last).state.conversations.by_id if events else {}
    found = coverage_of(read, conversations, log.blob)
    notes = sorted(map(_covered, found.notes), key=lambda each: (_ORDER[each.status], -each.tokens, each.note))
    wanted = [each for each in notes if parameters.status in (None, each.status)]
    return CoverageShown(
        first=read[0].seq if len(read) < len(events) else parameters.begin or (read[0].seq if read else 0),
        last=last,
        is_cut=len(read) < len(events),
        read=len(read),
        not_kept=found.not_kept,
        totals=[_total(status, notes) for status in _ORDER],
        notes=wanted[parameters.offset : parameters.offset + parameters.limit],
        notes_total=len(wanted),
    )


def _covered(found: NoteCoverage) -> CoveredNote:
    return CoveredNote(
        found.note,
        found.status,
        sum(each.bytes for each in found.given),
        sum(each.tokens for each in found.given),
        list(found.given[-EXAMPLES_MAX:]),
        len(found.given),
        list(found.used[:EXAMPLES_MAX]),
        len(found.used),
        list(found.unknown_to),
    )


def _total(status: Status, notes: list[CoveredNote]) -> StatusTotal:
    own = [each for each in notes if each.status == status]
    return StatusTotal(status, len(own), sum(each.bytes for each in own), sum(each.tokens for each in own))
