"""What each agent asked and was told up to any moment, from an index that is made once and grows with the log."""

from array import array
from bisect import bisect_right
from collections import Counter
from typing import Final
from weakref import WeakKeyDictionary

from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

from ... import replay

_TYPES: Final = (
    *replay.CALL_TYPES,
    "sharing_set",
    "volunteering_set",
    "pause_started",
    "pause_ended",
)
_PAGE_EVENTS: Final = 1_000


class Calls:
    """Calls of one kind of one agent, in order; some dozen bytes each."""

    def __init__(self) -> None:
        self._seqs = array("Q")
        self._bytes = array("Q", [0])
        """Of the answers of the first n calls."""
        self._failed = array("Q", [0])
        """Likewise how many failed."""
        self._tools: list[str] = []

    def add(self, event: Event) -> None:
        called: c.ToolCalled = event.data
        self._seqs.append(event.seq)
        self._bytes.append(self._bytes[-1] + called.bytes)
        self._failed.append(self._failed[-1] + (not called.ok))
        self._tools.append(called.tool)

    def count(self, until: int) -> int:
        """How many there were up to a sequence."""
        return bisect_right(self._seqs, until)

    def answered_bytes(self, until: int) -> int:
        return self._bytes[self.count(until)]

    def failed(self, until: int) -> int:
        return self._failed[self.count(until)]

    def tools(self, until: int) -> list[tuple[str, int]]:
        """Each tool with its calls, the most called first."""
        return Counter(self._tools[: self.count(until)]).most_common()

    def latest(self, until: int, limit: int) -> list[int]:
        """The sequences of the latest, newest first."""
        count = self.count(until)
        return list(reversed(self._seqs[max(count - limit, 0) : count]))


class AgentCalls:
    """The index of one log."""

    def __init__(self) -> None:
        self.asked: dict[str, Calls] = {}
        """By client, as the share policy names it."""
        self.told: dict[str, Calls] = {}
        """What it was told without asking."""
        self._settings: dict[tuple[str, str], list[int]] = {}
        """By type of event and client: the sequences."""
        self._seq = 0

    def read(self, log: replay.Log) -> None:
        """Takes what the log has beyond what was read before."""
        while page := log.events_of(_TYPES, after=self._seq, limit=_PAGE_EVENTS):
            for event in page:
                self._take(event)
            self._seq = page[-1].seq

    def set_by(self, type_: str, client: str, until: int) -> int | None:
        """The sequence of the last event of a type about a client, up to a sequence. Pauses are about ''."""
        seqs = self._settings.get((type_, client), [])
        count = bisect_right(seqs, until)
        return seqs[count - 1] if count else None

    def settings(self, until: int, limit: int) -> list[int]:
        """The sequences of the latest events that set something, newest first."""
        every = sorted(seq for seqs in self._settings.values() for seq in seqs if seq <= until)
        return every[: -limit - 1 : -1]

    def _take(self, event: Event) -> None:
        data = event.data
        if isinstance(data, c.ContextVolunteered):
            self.told.setdefault(client_key(data.caller), Calls()).add(event)
        elif isinstance(data, c.ToolCalled):
            self.asked.setdefault(client_key(data.caller), Calls()).add(event)
        else:
            client = client_key(getattr(data, "client", ""))
            self._settings.setdefault((event.type, client), []).append(event.seq)


_INDEXES: Final[WeakKeyDictionary[replay.Log, AgentCalls]] = WeakKeyDictionary()


def calls_of(log: replay.Log) -> AgentCalls:
    """The log's index, up to its present end."""
    index = _INDEXES.setdefault(log, AgentCalls())
    index.read(log)
    return index
