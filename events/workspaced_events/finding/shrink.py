"""Shrinking: finds the fewest actions that lead to a state in which an expression is true.

Delta debugging: removes smaller and smaller pieces of the log, from the end to the beginning, while the rest leads
there. At the end no single event can be removed. The same log and expression give the same result.
"""

from ..errors import InvalidArgument
from ..projections.workspace_state import WorkspaceState
from ..replay.source import Progress, Source
from ..schema.catalogue import STATE_TYPES, Event
from .expression import Expression
from .first_event import follow, never_true
from .reduced_log import ReducedLog


class Shrinking:
    """A log being shrunk.

    Attributes:
        given: the number of events up to the one after which the expression is true.
        asked: how often the expression was asked.
    """

    def __init__(self, source: Source, expression: Expression, *, progress: Progress | None = None) -> None:
        """Reads the log up to the first event after which the expression is true.

        Raises:
            ALREADY_TRUE: it is true of the state that the log begins with.
            NeverTrue: it is true after no event.
            InvalidArgument: it is not true once the actions of the log are published again.
            LogDamaged, OSError: the source cannot be read far enough.
        """
        self.asked = 0
        self._expression = expression
        leading: list[Event] = []
        found, state = follow(source, expression, leading.append, progress=progress)
        if found is None:
            raise never_true(expression, state)
        self.given = len(leading)
        start, before = source.start, leading[0].seq - 1
        changing = [each for each in leading if type(each.data) in STATE_TYPES]
        self._reduced = ReducedLog(start, before, changing, self._shows)
        if not self._reduced.is_shown():
            # Numbers of tabs depend on all events before them, so other events may be needed.
            self._reduced = ReducedLog(start, before, leading, self._shows)
            if not self._reduced.is_shown():
                raise InvalidArgument(
                    "When its actions are published anew the log does not show it.",
                    hint="Give a log from event 1 on; look for nothing that hangs on `seq` or on numbers of tabs.",
                )

    @property
    def events(self) -> list[Event]:
        """The smallest log found so far, numbered from its first event on."""
        return self._reduced.events

    def run(self) -> None:
        """Shrinks until nothing can be removed; `events` holds the result, also after an exception."""
        reduced = self._reduced
        size = max(1, len(reduced) // 2)
        while True:
            before = end = len(reduced)
            while end > 0:
                start = max(0, end - size)
                reduced.without(start, end)
                end = min(start, len(reduced))
            if size == 1 and len(reduced) == before:
                return
            size = max(1, min(size, len(reduced)) // 2)

    def _shows(self, state: WorkspaceState) -> bool:
        self.asked += 1
        return self._expression(state)
