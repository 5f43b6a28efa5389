"""What if: the log folded without chosen events, or with actions more, beside the real one. Never recorded.

Sequences and times stay: an event that is left out leaves a gap. What follows is checked by the rules of a
publish; an event that makes no sense any more (an order of pins of which one is gone) is left out too, and named.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import ActionError, InvalidArgument
from workspaced_events.ids import EventId
from workspaced_events.journal.actions import Action, admit, parse_actions
from workspaced_events.limits import HISTORY_EVENTS_MAX
from workspaced_events.projections.state_diff import Change, changes, lines
from workspaced_events.projections.visits import visits_of
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import ENTRY_OF, Event, UnknownEvent
from workspaced_tools.tools.registry import TOOLS

from ... import replay
from ..inspected import Inspected
from .newest import EventTold, told

_FOLDED_MAX: Final = 100_000
"""Events that are folded anew, from the first that is left out to the moment."""
_LEFT_OUT_MAX: Final = 1_000
_ACTIONS_MAX: Final = 100
_SHOWN_MAX: Final = 200
"""Events of each list in the answer."""
_SOURCE: Final = "what-if"


class WhatIfParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Another world."""

    at: str = ""
    """The moment: a sequence or an ISO 8601 time; empty: the end."""
    without: Annotated[list[int], Meta(max_length=_LEFT_OUT_MAX)] = []
    """Sequences of events that did not happen."""
    actions: Annotated[list[dict[str, Any]], Meta(max_length=_ACTIONS_MAX)] = []
    """What an editor published more, at the moment: `{type, data, vault?}` each, as in `workspaced publish`."""
    tool: str = ""
    """A tool to call in both worlds; empty: none."""
    arguments: dict[str, Any] = {}


class NotApplied(msgspec.Struct, rename="camel"):
    """An event that makes no sense in that world."""

    event: EventTold
    why: str


class Answers(msgspec.Struct, rename="camel"):
    """What a tool answers in both worlds, from recordings."""

    tool: str
    real: msgspec.Raw
    hypothetical: msgspec.Raw
    are_same: bool


class WhatIf(msgspec.Struct, rename="camel"):
    """A world that never was, beside the real one."""

    seq: int
    """The moment's."""
    time: str
    real: StateJson
    hypothetical: StateJson
    changes: list[Change]
    """How the hypothetical state differs from the real one."""
    lines: list[str]
    """The same for people."""
    left_out: list[EventTold]
    """The events that did not happen."""
    added: list[EventTold]
    """The actions as the events that they would have been."""
    not_applied: list[NotApplied]
    """Events that make no sense any more, the first ones."""
    not_applied_count: int
    answers: Answers | None
    tools: list[str]
    """That can be called."""
    limits: list[str]
    """What the hypothetical world does not tell."""


def what_if(inspected: Inspected, parameters: WhatIfParameters) -> WhatIf:
    """Another world at a moment.

    Raises:
        ActionError: an action is invalid, or does not fit that world; `index` says which.
        InvalidArgument: the log does not hold the moment or an event, or too much would be folded.
        WorkspacedError: UNKNOWN_TOOL: there is no such tool.
    """
    log = inspected.log
    at = parse_position(parameters.at) if parameters.at else None
    here = log.at(at) if at is not None else log.end
    until = at if isinstance(at, int) else here.seq
    actions = parse_actions(parameters.actions, keep_text=_not_kept) if parameters.actions else []
    world = _World(log, until, parameters.without)
    added = world.publish(actions, here.time)
    real_json, hypothetical = to_json(log.state_at(until)), to_json(world.state)
    differences = changes(real_json, hypothetical)
    return WhatIf(
        seq=until,
        time=here.time,
        real=real_json,
        hypothetical=hypothetical,
        changes=differences,
        lines=lines(differences),
        left_out=[told(log.event(seq)) for seq in sorted(set(parameters.without))[:_SHOWN_MAX]],
        added=list(map(told, added)),
        not_applied=[NotApplied(told(event), why) for event, why in world.not_applied[:_SHOWN_MAX]],
        not_applied_count=len(world.not_applied),
        answers=_answers(here, world, parameters) if parameters.tool else None,
        tools=sorted(TOOLS),
        limits=_limits(parameters),
    )


def _answers(here: replay.Moment, world: "_World", parameters: WhatIfParameters) -> Answers:
    moment = here.supposing(world.state, world.visits())
    real = msgspec.json.encode(here.call(parameters.tool, **parameters.arguments))
    hypothetical = msgspec.json.encode(moment.call(parameters.tool, **parameters.arguments))
    return Answers(parameters.tool, msgspec.Raw(real), msgspec.Raw(hypothetical), real == hypothetical)


def _limits(parameters: WhatIfParameters) -> list[str]:
    limits = ["Notes have the texts that they had: leaving out an event undoes no change of a file."]
    if parameters.without:
        limits.append("What agents and people did next is as it was, whatever they would have done.")
    if parameters.tool:
        limits.append("The tool answers from recordings; what no call read then is NOT_RECORDED.")
    return limits


def _not_kept(_text: bytes) -> str:
    raise InvalidArgument("A selected text is too long for a hypothetical action.", hint="Give a shorter text.")


class _World:
    """The log up to a moment, without some events."""

    def __init__(self, log: replay.Log, until: int, without: Sequence[int]) -> None:
        events = log.events()
        before = events[0].seq - 1 if events else 0
        left_out = set(without)
        for seq in left_out:
            if not before < seq <= until:
                raise InvalidArgument(
                    f"Expected events from {before + 1} to {until}, got {seq}.",
                    hint="Leave out what happened up to the moment.",
                )
        first = min(left_out, default=until + 1)
        if until - first >= _FOLDED_MAX:
            raise InvalidArgument(
                f"From event {first} to {until} there are more than {_FOLDED_MAX} events to fold anew.",
                hint="Choose a moment nearer to the first event that is left out.",
            )
        self.not_applied: list[tuple[Event, str]] = []
        """Each with why."""
        self._until = until
        self._events = events
        self._as_it_was = first - 1 - before
        """How many events are before the first that is left out."""
        self._folded: list[Event] = []
        self.state = log.state_at(first - 1)
        for event in events[first - 1 - before : until - before] if left_out else ():
            if event.seq not in left_out:
                self._take(event)

    def publish(self, actions: Sequence[Action], time: str) -> list[Event]:
        """Appends actions as a daemon would.

        Raises:
            ActionError: one does not fit; `index` says which.
        """
        added: list[Event] = []
        for index, action in enumerate(actions):
            try:
                vault = admit(self.state, action)
            except ActionError as error:
                raise error.at_index(index) from None
            event: Event = ENTRY_OF[type(action.data)].event(
                self._until + 1 + index, EventId(f"{_SOURCE}-{index}"), time, _SOURCE, vault, action.data
            )
            self._apply(event)
            added.append(event)
        return added

    def visits(self) -> Any:
        """The visits of the current vault's notes."""
        if self.state.current is None:
            return []
        earlier = self._events[max(self._as_it_was - HISTORY_EVENTS_MAX, 0) : self._as_it_was]
        return visits_of([*earlier, *self._folded][-HISTORY_EVENTS_MAX:], self.state.current)

    def _take(self, event: Event) -> None:
        if isinstance(event, UnknownEvent) or not ENTRY_OF[type(event.data)].by_ui:
            self._apply(event)
            return
        try:
            admit(self.state, Action(event.data, event.id, event.vault))
        except ActionError as error:
            self.not_applied.append((event, error.message))
            return
        self._apply(event)

    def _apply(self, event: Event) -> None:
        self.state = apply(self.state, event)
        self._folded.append(event)
