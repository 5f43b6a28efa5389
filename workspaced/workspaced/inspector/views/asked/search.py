"""Find and shrink: where a predicate becomes true, and the few events that lead there, as a story.

An expression is made of the fields of a state, the values they have at a moment, and functions.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import jmespath
import msgspec
from jmespath.functions import Functions

from workspaced_events.errors import InvalidArgument
from workspaced_events.finding.expression import Expression
from workspaced_events.ids import VaultId
from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.sentences import sentence
from workspaced_tools.errors import NotRecorded

from ....finding.files import BUNDLE, bundle_of
from ....finding.search import Search
from ...inspected import Download, Inspected, MomentParameters, NoParameters

VALUES_MAX: Final = 100
"""Values of one field."""


class Word(msgspec.Struct, rename="camel"):
    """Something that can be put into an expression."""

    text: str
    kind: Literal["field", "function"]
    about: str
    """What it is, in a few words."""
    values: list[str]
    """What a field holds at the moment, written as in an expression."""


def vocabulary(state: dict[str, Any]) -> list[Word]:
    """The words for a state, which is a `StateJson` as plain values."""
    fields = [Word(path, "field", about, _values(path, state)) for path, about in _FIELDS]
    functions = [
        Word(f"{name}(", "function", _about(signature["signature"]), [])
        for name, signature in sorted(Functions.FUNCTION_TABLE.items())
    ]
    return fields + functions


def _fields(kind: type[msgspec.Struct], before: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.inspect.type_info(kind).fields:  # type: ignore[attr-defined]
        yield from _field(before + field.encode_name, field.type)


def _field(path: str, kind: msgspec.inspect.Type) -> Iterator[tuple[str, str]]:
    match kind:
        case msgspec.inspect.UnionType():
            for each in kind.types:
                yield from _field(path, each)
        case msgspec.inspect.StructType():
            yield path, "an object, or null"
            yield from _fields(kind.cls, f"{path}.")
        case msgspec.inspect.CollectionType():
            yield path, "a list"
            if isinstance(kind.item_type, msgspec.inspect.StructType):
                yield from _fields(kind.item_type.cls, f"{path}[].")
            else:
                yield f"{path}[]", "its entries"
        case msgspec.inspect.DictType():
            yield path, "an object by client"
        case msgspec.inspect.IntType():
            yield path, "a number"
        case msgspec.inspect.StrType() | msgspec.inspect.LiteralType():
            yield path, "a text"


_FIELDS: Final = tuple(_fields(StateJson, ""))
"""The paths of a state, each with what stands there."""


def _values(path: str, state: dict[str, Any]) -> list[str]:
    found = jmespath.search(path, state)
    each = found if isinstance(found, list) else [found]
    plain = dict.fromkeys(value for value in each if isinstance(value, str | int) and not isinstance(value, bool))
    return [written(value) for value in list(plain)[:VALUES_MAX]]


def written(value: str | int) -> str:
    """A value as an expression writes it."""
    if isinstance(value, int):
        return f"`{value}`"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _about(signature: tuple[dict[str, Any], ...]) -> str:
    """The types of a function's arguments."""
    return "of " + ", ".join(" or ".join(each["types"]) or "anything" for each in signature)


class Step(msgspec.Struct, rename="camel"):
    """One event of a story, or the event that was found."""

    seq: int
    """In the shrunk log, or in the inspected one."""
    origin: int
    """The same event's sequence in the inspected log."""
    time: str
    type: str
    source: str
    words: str
    """What happened, as the rest of a sentence that begins with the source."""
    changes: list[str]
    """How the state differs from the one before, as lines."""


def story(part: Slice, origins: Mapping[str, int]) -> Iterator[Step]:
    """The steps of a part of a log.

    Args:
        origins: for ids of events their sequences in the inspected log.
    """
    state = part.start
    for event in part.events:
        after = apply(state, event)
        yield step(event, origins[event.id], state, after)
        state = after


def step(
    event: Event, origin: int, before: WorkspaceState, after: WorkspaceState, vault: VaultId | None = None
) -> Step:
    """An event and what it changed in a vault; None: in the current one."""
    changed = lines(changes(to_json(before, vault), to_json(after, vault)))
    return Step(event.seq, origin, event.time, event.type, event.source, sentence(event), changed)


class ExpressionParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An expression, and a moment to try it at."""

    expression: str
    vault: str | None = None
    """Of this vault instead of the one that is current."""
    at: str = ""
    """A sequence or an ISO 8601 time; empty: the end."""


class Tried(msgspec.Struct, rename="camel"):
    """What an expression gives at a moment."""

    seq: int
    is_true: bool
    value: Any
    trouble: str
    """What is wrong with the expression; empty: nothing."""
    hint: str
    position: int | None
    """Where in the expression it is wrong: characters before that place; null: everywhere, or nowhere."""


class Vocabulary(msgspec.Struct, rename="camel"):
    """What an expression may be made of."""

    seq: int
    """The values are those after this event."""
    words: list[Word]


class StartParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What to look for."""

    expression: str
    """JMESPath over the state."""
    vault: str | None = None
    """Of this vault instead of the one that is current."""


class SearchShown(msgspec.Struct, rename="camel"):
    """The inspector's search, as far as it is."""

    phase: Literal["none", "finding", "shrinking", "done", "stopped", "failed"]
    expression: str
    vault: str | None
    events_read: int
    events: int
    """How many there are."""
    found: Step | None
    """The first event after which the predicate is true."""
    given: int
    """Events up to the one found."""
    left: int
    """Events left while shrinking."""
    asked: int
    """How often the predicate was asked while shrinking."""
    story: list[Step]
    """The events that are left, once it is over."""
    code: str
    """Of the failure; empty: none."""
    message: str
    hint: str


def tried(inspected: Inspected, parameters: ExpressionParameters) -> Tried:
    """Evaluates an expression at a moment; what is wrong with it is part of the answer.

    Raises:
        InvalidArgument: the log does not hold the moment.
    """
    here = inspected.log.at(parse_position(parameters.at)) if parameters.at else inspected.log.end
    try:
        expression = Expression(parameters.expression, VaultId(parameters.vault) if parameters.vault else None)
        is_true = expression(here.state)
    except InvalidArgument as error:
        message = error.message.split(":\n", 1)[0]
        return Tried(here.seq, False, None, message, error.hint, error.details.get("position"))
    if expression.trouble is not None:
        hint = "A state of which it cannot be evaluated counts as one where it is not true."
        return Tried(here.seq, False, None, expression.trouble, hint, None)
    value = jmespath.search(parameters.expression, here.state_json(parameters.vault or None))
    return Tried(here.seq, is_true, value, "", "", None)


def words(inspected: Inspected, parameters: MomentParameters) -> Vocabulary:
    """What can be completed in an expression.

    Raises:
        InvalidArgument: the log does not hold the moment.
    """
    here = inspected.log.at(parse_position(parameters.at)) if parameters.at else inspected.log.end
    return Vocabulary(here.seq, vocabulary(here.state_json()))


def start(inspected: Inspected, parameters: StartParameters) -> SearchShown:
    """Begins a search.

    Raises:
        Busy: another one runs.
        InvalidArgument: the expression is none.
    """
    inspected.searches.start(parameters.expression, parameters.vault)
    return search(inspected, NoParameters())


def stop(inspected: Inspected, _parameters: NoParameters) -> SearchShown:
    """Stops the search, if one runs. What it found until then stays."""
    if inspected.searches.last is not None:
        inspected.searches.last.stop()
    return search(inspected, NoParameters())


def search(inspected: Inspected, _parameters: NoParameters) -> SearchShown:
    """The search that runs, or the last one."""
    last, events = inspected.searches.last, len(inspected.log.events())
    if last is None:
        return SearchShown("none", "", None, 0, events, None, 0, 0, 0, [], "", "", "")
    phase = last.phase  # read first: what belongs to a later phase is there by then
    return SearchShown(
        phase=phase,
        expression=last.text,
        vault=last.vault,
        events_read=last.read,
        events=events,
        found=_found(last),
        given=last.given,
        left=last.left,
        asked=last.asked,
        story=list(story(last.shrunk, last.origins)) if last.shrunk is not None else [],
        code=last.failure.code if last.failure is not None else "",
        message=last.failure.message if last.failure is not None else "",
        hint=last.failure.hint if last.failure is not None else "",
    )


def bundle(inspected: Inspected, _parameters: NoParameters) -> Download:
    """The few events as a bundle.

    Raises:
        NotRecorded: no search found anything yet.
        InvalidArgument: they are too large for a bundle.
    """
    return Download(bundle_of(_shrunk(inspected)), "application/octet-stream", BUNDLE)


def _shrunk(inspected: Inspected) -> Slice:
    last = inspected.searches.last
    if last is None or last.shrunk is None:
        raise NotRecorded("No search found anything yet", hint="POST /api/search begins one.")
    return last.shrunk


def _found(last: Search) -> Step | None:
    found, vault = last.found, VaultId(last.vault) if last.vault is not None else None
    return step(found.event, found.event.seq, found.before, found.after, vault) if found is not None else None
