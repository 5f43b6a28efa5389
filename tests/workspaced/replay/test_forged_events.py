"""What the log says of a call or a prompt is compared field by field: whoever forges one is noticed."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.visits import visits_from
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import (
    ContextInserted,
    ContextVolunteered,
    Event,
    LayerHashes,
    LibraryEntry,
    PromptAssembled,
    PromptOverlaid,
    PromptTotals,
    Shape,
    ToolCalled,
)
from workspaced_tools.replay.verify import Outcome, verify

NOTES = {"a.md": "# Alpha\n\nThe first.\n", "b.md": "# Beta\n\nThe second.\n"}
OTHER = "f" * 64
NOBODY_KNOWS = {
    "duration_us": "how long it took",
    "now": "what time it was, where the answer does not tell",
    "tail_seq": "how much of the log there was, where nothing else had happened",
    "session": "what a runtime calls its session",
    "event": "what a runtime calls the moment",
    "from_seq": "which difference the session had been told before",
    "insertion": "what a text in a request is called: the request that names it is not recorded then",
    "near": "which words the text stood before",
    "traceparent": "which span of a client it was a part of",
    "after": "which text it followed: the request that has both is not recorded then",
}
"""Fields that nothing in the log says again."""


@pytest.fixture(scope="module")
def part(module_daemon: Any) -> Iterator[Slice]:
    """The log of a daemon that answered calls, told a session something, put it into a request, and assembled
    prompts."""
    running = module_daemon(notes=NOTES)
    with running.connect("agent") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.tool("get_current_note")
        client.tool("search_workspace", {"query": "first"})
        told = client.call("workspaced/volunteer", {"client": "agent", "session": "s", "event": "prompt"})
        client.call("workspaced/volunteer/confirm", {"token": told["token"]})
        turn = {"key": "1" * 64, "near": "2" * 64}
        asked = {"form": "openai", "turns": [turn], "open": True, "chat": "3" * 64}
        offered = client.call("workspaced/context/overlay", asked)
        client.call("workspaced/context/overlay/confirm", {"token": offered["token"], "bodySha256": "4" * 64})
        talk = {"conversation": "talk"}
        settings = {"provider": "anthropic", "model": "m", "contextWindow": 100_000, "outputReserve": 1_000}
        client.call("workspaced/context/start", {**talk, **settings})
        for number, note in enumerate(NOTES):
            message = {"id": f"m{number}", "role": "user", "text": "What is it?"}
            message["attachments"] = [{"kind": "note", "id": note}]
            client.call("workspaced/context/message", {**talk, "messages": [message]})
            client.call("workspaced/context/assemble", {**talk, "shape": "anthropic"})
    assert running.stop() == 0
    with open_source(running.data) as source:
        events: list[Event] = []
        source.feed(events.extend)
        yield Slice(source.log_id, EMPTY, msgspec.json.encode(visits_from(0)), events, source.blob)


def outcomes(part: Slice, forged: Event | None = None) -> dict[int, tuple[Outcome, str | None]]:
    """The outcome of each call and prompt, and what differs, where one event is another one."""
    events = [forged if forged is not None and forged.seq == each.seq else each for each in part.events]
    found: dict[int, tuple[Outcome, str | None]] = {}

    def take(made: Any) -> None:
        found[made.seq] = made.outcome, made.differs

    source = Slice(part.log_id, part.start, part.visits_json, events, part.blob)
    verify(source, take, each_prompt=take)
    return found


def another(value: Any) -> Any:
    """A value of the same type, where the field has one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return OTHER if len(value) == len(OTHER) else value + "x"
        case dict():
            return {**value, "query": "second"}
        case None:
            return OTHER
        case ():
            return (LibraryEntry("b.md", "note", OTHER, OTHER, 1, MessageId("m0")),)
        case Shape():
            return replace(value, body_hash=OTHER)
        case LayerHashes():
            return replace(value, L5_USER=OTHER)
        case PromptTotals():
            return replace(value, tools=value.tools + 1)
    raise AssertionError(value)


def test_all_is_the_same_where_nobody_forged(part: Slice) -> None:
    found = outcomes(part)
    kinds = [type(part.events[seq - 1].data) for seq in found]
    assert {ToolCalled, ContextVolunteered, ContextInserted, PromptOverlaid, PromptAssembled} == set(kinds)
    assert set(found.values()) == {(Outcome.SAME, None)}


@pytest.mark.fault(row=59)
@pytest.mark.parametrize("kind", [ToolCalled, ContextVolunteered, ContextInserted, PromptAssembled])
def test_each_field_is_compared_that_is_known_again(part: Slice, kind: type) -> None:
    unnoticed = set()
    last = [event for event in part.events if type(event.data) is kind][-1]
    for name in kind.__struct_fields__:
        data = replace(last.data, **{name: another(getattr(last.data, name))})
        if outcomes(part, replace(last, data=data))[last.seq] == (Outcome.SAME, None):
            unnoticed.add(name)
    assert unnoticed <= NOBODY_KNOWS.keys()


def test_a_request_that_names_what_was_not_put_into_it_is_noticed(part: Slice) -> None:
    (inserted,) = [event for event in part.events if type(event.data) is ContextInserted]
    (request,) = [event for event in part.events if type(event.data) is PromptOverlaid]
    for event, change, found in (
        (request, {"insertion": "unknown-1"}, (Outcome.NOT_RECORDED, None)),
        (request, {"without": ("unknown-1",)}, (Outcome.DIFFERENT, "without")),
        (inserted, {"insertion": "unknown-1"}, (Outcome.NOT_RECORDED, None)),
        (inserted, {"after": "unknown-1"}, (Outcome.NOT_RECORDED, None)),
        (inserted, {"after": inserted.data.insertion}, (Outcome.NOT_RECORDED, None)),  # a fold went round for ever
    ):
        forged = replace(event, data=replace(event.data, **change))
        assert outcomes(part, forged)[request.seq] == found
