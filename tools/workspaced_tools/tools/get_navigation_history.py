"""`get_navigation_history`: the user's visits of notes, with their lengths."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import Field

from workspaced_events.projections.visits import Visit

from ..answers import NavigationHistory, ShownVisit
from ..errors import ArgumentInvalid
from ..limits import ECHO_CHARS_MAX
from ..ports.questions import Visits
from ..ports.view import View
from .note_answers import served_vault, to_second
from .tool import Answer, Arguments, Tool
from .visit_answers import NoteTitles, Room, dwell_s

_HISTORY_CHARS_MAX: Final = 48_000
"""All visits of one answer, as JSON. The rest of the answer has a few hundred characters."""


class GetNavigationHistory(Arguments):
    limit: int = Field(20, ge=1, le=200, description="Visits.")
    since_time: str | None = Field(None, max_length=64, description="ISO 8601.")


def get_navigation_history(view: View, arguments: GetNavigationHistory) -> Answer[NavigationHistory]:
    """The latest visits, newest first. `total` counts all remembered visits that ended after `sinceTime`.

    A visit that began before `sinceTime` and ended after it is included with its whole length.

    Raises:
        NoActiveVault.
        ArgumentInvalid: `sinceTime` is no time.
    """
    vault, _ = served_vault(view)
    visits = vault.ask(Visits())
    if arguments.since_time is not None:
        visits = list(_since(visits, _moment(arguments.since_time)))
    shown = visits[: -arguments.limit - 1 : -1]
    names = NoteTitles(vault, (visit.note for visit in shown))
    entries = Room(_HISTORY_CHARS_MAX).fitting(
        ShownVisit(
            **names.entry(visit.note),
            at=to_second(visit.at),
            until=to_second(visit.until) if visit.until is not None else None,
            dwell_seconds=dwell_s(visit, view.now),
        )
        for visit in shown
    )
    warnings = []
    if len(entries) < len(shown):
        warnings.append(f"The answer is full: {len(shown) - len(entries)} visits are left out.")
    message = f"{len(entries)} of {len(visits)} visits, newest first."
    return Answer(NavigationHistory(entries, len(visits)), message, warnings)


def _since(visits: Iterable[Visit], moment: datetime) -> Iterable[Visit]:
    for visit in visits:
        # A visit without duration counts at its beginning.
        if (
            visit.until is None
            or datetime.fromisoformat(visit.until) > moment
            or datetime.fromisoformat(visit.at) >= moment
        ):
            yield visit


def _moment(text: str) -> datetime:
    """Parses an ISO 8601 time. A time without offset counts as UTC.

    Raises:
        ArgumentInvalid: the text is no time.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ArgumentInvalid(
            f"Argument 'sinceTime': expected an ISO 8601 time, got {repr(text)[:ECHO_CHARS_MAX]}.",
            hint="Give sinceTime as 2026-03-01T12:00:00Z, or leave it out.",
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


TOOL: Final[Tool[Any]] = Tool(
    name="get_navigation_history",
    description="What the user looked at, newest first, with dwell times.",
    arguments=GetNavigationHistory,
    data=NavigationHistory,
    function=get_navigation_history,
)
