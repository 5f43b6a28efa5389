"""The messages before a prompt's own: providers take them, and nothing of them disappears silently."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_conversations import NamedTalk, talks

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import turn_of
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.prompts.assembly.history import Past, continuation_of, history_of, paired
from workspaced_tools.prompts.model.types import ChatMessage


def assert_valid(messages: Sequence[ChatMessage]) -> None:
    """What every provider demands: a plain second opinion, message by message."""
    for message in messages:
        assert message.role in {"user", "assistant"}
        assert any(block.type != "thinking" for block in message.content)
        assert all(block.text and block.text.strip(" \t\r\n") for block in message.content if block.type == "text")
        thinking = [block for block in message.content if block.type == "thinking"]
        assert all(block.signature or block.redacted for block in thinking)
    called: list[str | None] = []
    answered: list[str | None] = []
    for at, message in enumerate(messages):
        results = [block.id for block in message.content if block.type == "toolResult"]
        calls = [block.id for block in message.content if block.type == "toolCall"]
        if message.role == "assistant":
            assert not results
            called += calls
            continue
        assert not calls
        answered += results
        if len(results) == len(message.content) and at + 1 < len(messages) and brings_results(messages[at + 1]):
            continue  # the rest of the round comes in the next message
        assert Counter(called) == Counter(answered)
        assert len(set(called)) == len(called)
        called, answered = [], []
    assert not called


def brings_results(message: ChatMessage) -> bool:
    return message.role == "user" and all(block.type == "toolResult" for block in message.content)


def ids(messages: Sequence[ChatMessage]) -> list[str]:
    return [str(message.id) for message in messages]


def whys(dropped: Sequence[ManifestEntry]) -> list[tuple[str, str, str]]:
    return [(entry.id, entry.state, entry.why) for entry in dropped]


@pytest.fixture
def talk() -> NamedTalk:
    return NamedTalk()


# -- any conversation --


@settings(max_examples=examples(150))
@given(st.data())
def test_every_message_is_either_there_or_has_one_record(data: st.DataObject) -> None:
    talk = data.draw(talks())
    every = list(talk.now.messages)
    message = data.draw(st.sampled_from(every))
    turn = every.index(turn_of(talk.now, message))
    first = talk.now.messages[every[turn]]
    begin = turn + (first.role == "user" and not first.is_carrier)
    before = history_of(talk.now, message, talk.texts)
    since = continuation_of(talk.now, message, talk.texts)
    for past, expected in ((before, every[:turn]), (since, every[begin : every.index(message) + 1])):
        records = [entry.id for entry in past.dropped]
        assert len(set(records)) == len(records)
        gone = [entry.id for entry in past.dropped if entry.kind == "message"]
        assert sorted(ids(past.messages) + gone) == sorted(expected)
        assert ids(past.messages) == [each for each in expected if each not in gone]


@settings(max_examples=examples(150))
@given(talks(), st.integers(0, 24))
def test_what_was_filtered_once_passes_and_so_does_its_rest_after_a_cut(talk: NamedTalk, cut: int) -> None:
    messages = history_of(talk.now, list(talk.now.messages)[-1], talk.texts).messages
    assert paired(messages) == Past(messages, ())
    assert_valid(paired(messages[cut:]).messages)
    assert_valid(paired(messages[:cut]).messages)


# -- filters --


def test_the_results_of_a_round_may_come_in_several_messages(talk: NamedTalk) -> None:
    talk.say("q", "user", "question")
    talk.say("calls", "assistant", None, calls=(("x", "{}"), ("y", "{}"), ("z", "{}")))
    for name in ("y", "x", "z"):
        talk.say(f"found.{name}", "user", results=((name, f"found {name}"),))
    talk.say("again", "user", results=(("x", "found x again"),))
    talk.say("end", "user", "go on")
    past = history_of(talk.now, MessageId("end"), talk.texts)
    results = [block.id for each in past.messages for block in each.content if block.type == "toolResult"]
    assert results == ["y", "x", "z"]
    calls = [block.id for each in past.messages for block in each.content if block.type == "toolCall"]
    assert calls == ["x", "y", "z"]
    assert_valid(past.messages)


def test_a_continuation_is_what_follows_the_turns_question(talk: NamedTalk) -> None:
    talk.turn("one", "words", "found")
    talk.turn("two", "words", "found")
    assert ids(continuation_of(talk.now, MessageId("two.found"), talk.texts).messages) == ["two.call", "two.found"]
    assert ids(history_of(talk.now, MessageId("two.found"), talk.texts).messages)[-1] == "one.answer"
    assert continuation_of(talk.now, MessageId("two"), talk.texts).messages == ()
    open_call = continuation_of(talk.now, MessageId("two.call"), talk.texts)
    assert (open_call.messages, [entry.id for entry in open_call.dropped]) == ((), ["two.call#0", "two.call"])


# -- from where on --


def test_a_summary_of_what_comes_later_is_not_told(talk: NamedTalk) -> None:
    for name in ("one", "two", "three"):
        talk.turn(name, "words")
    talk.summarise("They spoke.", "three.answer")
    past = history_of(talk.now, MessageId("two"), talk.texts)
    assert (ids(past.messages), past.summary) == (["one", "one.answer"], None)
    assert whys(past.dropped) == [("summary", "dropped", "filtered")]
