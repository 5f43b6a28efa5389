"""Agents: what each may see, what it was told without asking, what it asked; and pauses."""

from collections import Counter, defaultdict, deque
from contextlib import suppress
from typing import Any, Final

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


CLIENT: Final = "inspector"
"""Our name among the daemon's clients, and the source of what the page says."""
_DAEMON_S: Final = 2.0
"""How long a page waits for what only the daemon knows."""
_LATEST: Final = 5
_SETTINGS: Final = 20


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


class _Calls:
    """Calls of one agent."""

    def __init__(self) -> None:
        self._failed = self._bytes = 0
        self._tools = Counter[str]()
        self._latest = deque[CallShown](maxlen=_LATEST)

    def add(self, event: Event) -> None:
        data = event.data
        self._failed += not data.ok
        self._bytes += data.bytes
        self._tools[data.tool] += 1
        what = getattr(data, "event", None) or data.tool
        self._latest.appendleft(CallShown(event.seq, event.time, what, data.ok, data.bytes))

    def totals(self) -> CallTotals:
        tools = [ToolCount(*each) for each in self._tools.most_common()]
        return CallTotals(self._tools.total(), self._failed, self._bytes, tools, list(self._latest))


class _Heard:
    """What a log says of its agents up to a sequence. Each is called as the share policy names it."""

    def __init__(self, log: replay.Log, until: int) -> None:
        self.asked = defaultdict[str, _Calls](_Calls)
        self.told = defaultdict[str, _Calls](_Calls)
        """What each was told without asking."""
        self.set_by: dict[tuple[str, str], Event] = {}
        """By type and agent, the last event that set something; pauses are about ''."""
        self.settings = deque[Event](maxlen=_SETTINGS)
        """The latest of these, newest first."""
        for event in log.events_of(_TYPES, after=0, before=until + 1):
            if isinstance(event.data, c.ToolCalled):
                calls = self.told if isinstance(event.data, c.ContextVolunteered) else self.asked
                calls[client_key(event.data.caller)].add(event)
            else:
                self.set_by[event.type, client_key(getattr(event.data, "client", ""))] = event
                self.settings.appendleft(event)


def agents(inspected: Inspected, parameters: MomentParameters) -> Agents:
    """All agents at a moment.

    Raises:
        InvalidArgument: the log does not hold that moment.
    """
    log = inspected.log
    at = parse_position(parameters.at) if parameters.at else None
    here = log.at(at) if at is not None else log.end
    state = here.state
    # The moment of a recorded call is the one that the call saw; the call itself has happened by then.
    until = at if isinstance(at, int) else here.seq
    connected = _connected(inspected) if not parameters.at else None
    heard = _Heard(log, until)
    names = {*heard.asked, *heard.told, *state.sharing, *state.volunteering, *(connected or ())}
    shown = [_agent(heard, state, name, connected) for name in names - {ANY_CLIENT}]
    known = [each for each in shown if _is_known(each, state)]
    known.sort(key=lambda each: (-_last_heard(each), each.client))
    return Agents(
        seq=until,
        time=here.time,
        default_level=state.sharing.get(ANY_CLIENT, "all"),
        default_volunteering=state.volunteering.get(ANY_CLIENT, "on"),
        agents=known,
        pause=_pause(heard, state),
        settings=list(map(row_of, heard.settings)),
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


def _agent(heard: _Heard, state: WorkspaceState, name: str, connected: set[str] | None) -> Agent:
    level = heard.set_by.get(("sharing_set", name)) if name in state.sharing else None
    volunteering = heard.set_by.get(("volunteering_set", name)) if name in state.volunteering else None
    return Agent(
        client=name,
        level=state.sharing_of(name),
        level_seq=level.seq if level is not None else None,
        volunteering=state.volunteering_of(name),
        volunteering_seq=volunteering.seq if volunteering is not None else None,
        is_connected=name in connected if connected is not None else None,
        asked=heard.asked[name].totals(),
        told=heard.told[name].totals(),
    )


def _is_known(agent: Agent, state: WorkspaceState) -> bool:
    """Whether it was heard of by the moment."""
    has_own = agent.client in state.sharing or agent.client in state.volunteering
    return has_own or bool(agent.is_connected or agent.asked.calls or agent.told.calls)


def _last_heard(agent: Agent) -> int:
    return max((each.seq for each in (*agent.asked.latest[:1], *agent.told.latest[:1])), default=0)


def _pause(heard: _Heard, state: WorkspaceState) -> PauseShown | None:
    if state.paused is None:
        return None
    begun = heard.set_by.get(("pause_started", ""))
    seq, by = (begun.seq, begun.source) if begun is not None else (None, "")
    return PauseShown(state.paused.since, state.paused.until, seq, by)
