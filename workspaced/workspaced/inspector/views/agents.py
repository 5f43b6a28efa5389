"""Agents: what each may see, what it was told without asking, what it asked; and pauses.

Calls are counted up to any moment, from an index that is made once and grows with the log.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.projections.workspace_state import ANY_CLIENT, WorkspaceState, client_key
from workspaced_events.replay.position import parse_position
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event, Sharing, Volunteering

from ... import replay
from ...client.sync_client import connect
from ..inspected import Inspected, MomentParameters
from .events import EventRow, row_of

_TYPES: Final = (*replay.CALL_TYPES, "sharing_set", "volunteering_set", "pause_started", "pause_ended")


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

    def totals(self, log: replay.Log, until: int) -> "CallTotals":
        """The calls up to a sequence."""
        count = bisect_right(self._seqs, until)
        return CallTotals(
            calls=count,
            failed=self._failed[count],
            bytes=self._bytes[count],
            tools=[ToolCount(*each) for each in Counter(self._tools[:count]).most_common()],
            latest=[_call(log.event(seq)) for seq in reversed(self._seqs[max(count - _LATEST, 0) : count])],
        )


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
        for event in log.events_of(_TYPES, after=self._seq):
            self._take(event)
            self._seq = event.seq

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


CLIENT: Final = "inspector"
"""Our name among the daemon's clients, and the source of what the page says."""
_DAEMON_S: Final = 2.0
"""How long a page waits for what only the daemon knows."""
_LATEST: Final = 5
_SETTINGS: Final = 20
_NO_CALLS: Final = Calls()


class ToolCount(msgspec.Struct, rename="camel"):
    """A tool, and how often it was called."""

    tool: str
    calls: int


class CallShown(msgspec.Struct, rename="camel"):
    """One call, or one time that something was told."""

    seq: int
    time: str
    what: str
    """The tool, or the moment of the runtime at which it was told."""
    ok: bool
    bytes: int
    """Of the answer."""


class CallTotals(msgspec.Struct, rename="camel"):
    """Calls up to the moment."""

    calls: int
    failed: int
    bytes: int
    """Of all answers."""
    tools: list[ToolCount]
    """The most called first."""
    latest: list[CallShown]
    """The latest, newest first."""


class Agent(msgspec.Struct, rename="camel"):
    """One client of the tools."""

    client: str
    """As the share policy names it."""
    level: Sharing
    level_seq: int | None
    """The event that set it; null: it has no level of its own, or that is not in this log."""
    volunteering: Volunteering
    volunteering_seq: int | None
    is_connected: bool | None
    """Now; null: unknown, as for a past moment."""
    asked: CallTotals
    told: CallTotals
    """What it was told without asking."""


class PauseShown(msgspec.Struct, rename="camel"):
    """A pause that lasts at the moment."""

    since: str
    until: str | None
    """When it ends by itself; null: when somebody ends it."""
    seq: int | None
    """The event that began it, or set its end; null: not in this log."""
    by: str
    """Who did it; empty: unknown."""


class Agents(msgspec.Struct, rename="camel"):
    """All agents at a moment."""

    seq: int
    time: str
    default_level: Sharing
    """Of clients without one of their own."""
    default_volunteering: Volunteering
    agents: list[Agent]
    """The last one heard of first."""
    pause: PauseShown | None
    settings: list[EventRow]
    """The latest changes of levels and pauses, newest first."""


def agents(inspected: Inspected, parameters: MomentParameters) -> Agents:
    """All agents at a moment.

    Raises:
        InvalidArgument: the log does not hold that moment.
    """
    log = inspected.log
    at = parse_position(parameters.at) if parameters.at else None
    here = log.at(at) if at is not None else log.end
    state, index = here.state, calls_of(log)
    # The moment of a recorded call is the one that the call saw; the call itself has happened by then.
    until = at if isinstance(at, int) else here.seq
    connected = _connected(inspected) if not parameters.at else None
    names = {*index.asked, *index.told, *state.sharing, *state.volunteering, *(connected or ())}
    shown = [_agent(inspected, index, state, name, until, connected) for name in names - {ANY_CLIENT}]
    known = [each for each in shown if _is_known(each, state)]
    known.sort(key=lambda each: (-_last_heard(each), each.client))
    return Agents(
        seq=until,
        time=here.time,
        default_level=state.sharing.get(ANY_CLIENT, "all"),
        default_volunteering=state.volunteering.get(ANY_CLIENT, "on"),
        agents=known,
        pause=_pause(log, index, state, until),
        settings=[row_of(log.event(seq)) for seq in index.settings(until, _SETTINGS)],
    )


def _connected(inspected: Inspected) -> set[str] | None:
    """The clients that are connected to the daemon now; None if that is unknown."""
    status = daemon_says(inspected, "workspaced/status", {})
    listed = status["sharing"]["clients"] if status is not None else None
    return {each["client"] for each in listed if each["connected"]} - {CLIENT} if listed is not None else None


def daemon_says(inspected: Inspected, method: str, params: dict[str, Any]) -> Any:
    """What the daemon answers; None: there is none, or it does not answer soon."""
    if inspected.subject.socket is not None:
        with (
            suppress(WorkspacedError),
            connect(inspected.subject.socket, name=CLIENT, timeout_s=_DAEMON_S) as client,
        ):
            return client.call(method, params)
    return None


def _agent(
    inspected: Inspected,
    index: AgentCalls,
    state: WorkspaceState,
    name: str,
    until: int,
    connected: set[str] | None,
) -> Agent:
    return Agent(
        client=name,
        level=state.sharing_of(name),
        level_seq=index.set_by("sharing_set", name, until) if name in state.sharing else None,
        volunteering=state.volunteering_of(name),
        volunteering_seq=index.set_by("volunteering_set", name, until) if name in state.volunteering else None,
        is_connected=name in connected if connected is not None else None,
        asked=index.asked.get(name, _NO_CALLS).totals(inspected.log, until),
        told=index.told.get(name, _NO_CALLS).totals(inspected.log, until),
    )


def _call(event: Event) -> CallShown:
    data = event.data
    return CallShown(event.seq, event.time, getattr(data, "event", None) or data.tool, data.ok, data.bytes)


def _is_known(agent: Agent, state: WorkspaceState) -> bool:
    """Whether it was heard of by the moment."""
    has_own = agent.client in state.sharing or agent.client in state.volunteering
    return has_own or bool(agent.is_connected or agent.asked.calls or agent.told.calls)


def _last_heard(agent: Agent) -> int:
    return max((each.seq for each in (*agent.asked.latest[:1], *agent.told.latest[:1])), default=0)


def _pause(log: replay.Log, index: AgentCalls, state: WorkspaceState, until: int) -> PauseShown | None:
    if state.paused is None:
        return None
    seq = index.set_by("pause_started", client_key(""), until)
    by = log.event(seq).source if seq is not None else ""
    return PauseShown(state.paused.since, state.paused.until, seq, by)
