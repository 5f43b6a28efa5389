"""The strip: the last turns word for word, cut in steps, and a summary for what is older."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.conversation import ID, Talk, layer
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples
from support.random_conversations import NamedTalk, talks

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import turn_of
from workspaced_events.schema import catalogue as c
from workspaced_tools.limits import SUMMARY_TOKENS_MAX
from workspaced_tools.prompts.assembly.history import history_of
from workspaced_tools.prompts.model.turn_window import begins, window_of
from workspaced_tools.prompts.model.types import Envelope, Policy


def stripped(turns: int) -> Policy:
    return Policy(history_turns=turns)


def kept(envelope: Envelope) -> list[str]:
    """The questions in the history."""
    said = [each for each in envelope.messages if each.role == "user"][:-1]
    return [str(block.text) for each in said for block in each.content if block.text and len(block.text) < 9]


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
def test_at_least_so_many_turns_stay_and_less_than_twice_as_many_and_the_cut_moves_in_steps(turns: int) -> None:
    chat = Talk()
    chat.policy = stripped(turns)
    cuts = []
    for number in range(20):
        envelope = chat.ask(f"q{number}")
        found = kept(envelope)
        assert found == [f"q{each}" for each in range(number)][number - len(found) :]
        assert min(number, turns) <= len(found) < 2 * turns
        cuts.append(number - len(found))
    assert set(cuts) == set(range(0, 20 - turns, turns))
    assert cuts == sorted(cuts)


def test_what_is_cut_off_has_a_record_each() -> None:
    chat = Talk()
    chat.policy = stripped(2)
    for number in range(4):
        chat.ask(f"q{number}")
    envelope = chat.ask("last")
    gone = [(each.id, each.state, each.why) for each in envelope.manifest.entries if each.state == "dropped"]
    assert gone == [(f"m{number}", "dropped", "fold") for number in range(1, 5)]


def test_between_two_cuts_the_history_only_grows() -> None:
    chat = Talk()
    chat.policy = stripped(4)
    chat.ask("q0")
    last, moved = chat.prompt(chat.say("first")), 0
    for number in range(20):
        chat.answer()
        now = chat.prompt(chat.say(f"q{number}"))
        old, new = layer(last, "L4").text, layer(now, "L4").text
        moved += not new.startswith(old)
        assert layer(now, "L4").stable == new.startswith(old)
        last = now
    assert moved == 4


def test_without_a_number_all_turns_stay() -> None:
    chat = Talk()
    for number in range(20):
        envelope = chat.ask(f"q{number}")
    assert len(kept(envelope)) == 19


def test_a_turn_with_rounds_of_tools_is_one_turn() -> None:
    chat = Talk()
    chat.policy = stripped(1)
    chat.ask("q0")
    chat.say("q1")
    for call in ("x", "y", "z"):
        chat.answer("", call)
        chat.results(call)
    chat.answer("done")
    envelope = chat.ask("last")
    assert [each.id for each in envelope.messages[1:-1]] == [f"m{number}" for number in range(3, 11)]


@settings(max_examples=examples(150))
@given(st.data())
def test_whatever_was_said_the_history_begins_behind_a_fold_or_a_summary_and_all_else_has_one_record(
    data: st.DataObject,
) -> None:
    said = data.draw(talks())
    message = data.draw(st.sampled_from(list(said.now.messages)))
    pipeline = data.draw(st.sampled_from(["chat", "compression"]))
    policy = Policy(pipeline=pipeline)
    window = window_of(said.now, message, policy)
    ids = list(said.now.messages)
    end = window.turn if pipeline == "chat" else ids.index(message) + 1
    there = [each.id for each in window.messages]
    gone = [each.id for each in window.dropped]
    assert sorted(there + gone, key=ids.index) == ids[:end] and len(set(there + gone)) == end
    if there and (start := ids.index(there[0])) > 0:
        if pipeline == "chat":
            assert ids[start - 1] == said.now.elided_until, "only a compaction leaves messages out"
        else:
            spoken = [each for each in window.messages if each.role != "system"]
            assert not spoken or begins(spoken[0]) or turn_of(said.now, there[0]) == ids[0], "a turn is never cut"
    past = history_of(said.now, message, said.texts, policy)
    records = [entry.id for entry in past.dropped if entry.kind == "message"]
    assert sorted([str(each.id) for each in past.messages] + records, key=ids.index) == ids[:end]


# -- the summary --


@pytest.mark.parametrize(("words", "warned"), [(SUMMARY_TOKENS_MAX - 5, False), (SUMMARY_TOKENS_MAX * 2, True)])
def test_a_long_summary_is_shown_whole_with_a_warning(words: int, warned: bool) -> None:
    chat = Talk()
    chat.policy = replace(Policy(), summary_tokens_max=SUMMARY_TOKENS_MAX)
    chat.ask("q0")
    text = "four" * words
    chat.tell(c.SummarySet(conversation=ID, text_sha256=chat.keep(text), up_to=MessageId("m2")))
    envelope = chat.ask("q1")
    assert text in layer(envelope, "L4").text
    assert bool(envelope.manifest.warnings) == warned


def test_prompts_of_before_warn_of_no_summary() -> None:
    chat = Talk()
    chat.ask("q0")
    chat.tell(c.SummarySet(conversation=ID, text_sha256=chat.keep("four" * 900), up_to=MessageId("m2")))
    assert chat.ask("q1").manifest.warnings == ()


# -- long conversations --


@pytest.mark.parametrize("policy", [stripped(5), Policy(), Policy(pipeline="compression")])
def test_a_long_conversation_takes_linear_time(policy: Policy) -> None:
    def seconds(turns: int) -> float:
        said = NamedTalk()
        for number in range(turns):
            said.say(f"q{number}", "user", "question", skills=("a", "b"))
            said.say(f"c{number}", "assistant", None, calls=(("x", "{}"),))
            said.say(f"r{number}", "user", found=(("x", "source"),))
        last = said.say("last", "user", "and now")
        return thread_seconds(lambda: history_of(said.now, last, said.texts, policy))

    assert grows_linearly(seconds, 200, 800)
