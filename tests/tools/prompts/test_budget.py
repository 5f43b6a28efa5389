"""Prompts that fit: what goes first, what is never touched, and in which order."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_conversations import NamedTalk, talks

from workspaced_tools.errors import BudgetExceeded
from workspaced_tools.prompts.assembly.budget import Parts, fit
from workspaced_tools.prompts.assembly.history import Past, history_of, last_rounds, paired
from workspaced_tools.prompts.model.token_estimate import Estimator
from workspaced_tools.prompts.model.types import ChatMessage, Policy

PLAIN = Estimator(1.0)
POLICY = Policy()


def parts(history: Sequence[ChatMessage] = (), **given: Any) -> Parts:
    return Parts(**({"fixed": 0, "summary_tokens": 0} | given), history=tuple(history))


def size(history: Sequence[ChatMessage]) -> int:
    return sum(map(PLAIN.message_tokens, history))


def ids(history: Sequence[ChatMessage]) -> list[str]:
    return [str(message.id) for message in history]


def results(history: Sequence[ChatMessage]) -> list[str | None]:
    return [block.text for message in history for block in message.content if block.type == "toolResult"]


def tokens(count: int) -> str:
    return "four" * count


def history(*found: int, words: int = 10) -> tuple[ChatMessage, ...]:
    """A round for each: a tool's result of so many tokens, between words."""
    talk = NamedTalk()
    for number, each in enumerate(found):
        talk.turn(f"t{number}", tokens(words), tokens(each) if each else None)
    end = talk.say("end", "user", "go on")
    messages: tuple[ChatMessage, ...] = history_of(talk.now, end, talk.texts, POLICY).messages
    return messages


# -- any prompt --

policies = st.builds(Policy, keep_rounds=st.integers(0, 4), slide_to=st.sampled_from([0.25, 0.5, 0.9]))


@settings(max_examples=examples(250))
@given(st.data())
def test_a_prompt_fits_or_is_refused_and_the_last_rounds_are_never_touched(data: st.DataObject) -> None:
    talk = data.draw(talks())
    past = history_of(talk.now, list(talk.now.messages)[-1], talk.texts, POLICY).messages
    policy = data.draw(policies)
    limit, fixed = data.draw(st.integers(0, 3_000)), data.draw(st.integers(0, 1_000))
    estimator = Estimator(data.draw(st.sampled_from([0.5, 1.0, 1.3])))
    given_parts = parts(past, fixed=fixed)
    protected = past[last_rounds(past, policy.keep_rounds) :]
    needed = fixed + sum(map(estimator.message_tokens, protected))
    try:
        fitted = fit(given_parts, limit, policy, estimator)
    except BudgetExceeded as error:
        assert error.details["needed"] == needed > limit
        return
    assert needed <= fixed + sum(map(estimator.message_tokens, fitted.messages)) <= limit
    assert fitted.messages[len(fitted.messages) - len(protected) :] == protected
    assert paired(fitted.messages) == Past(fitted.messages, ())
    assert fitted == fit(given_parts, limit, policy, estimator)
    assert_recorded(given_parts, fitted)


def assert_recorded(before: Parts, fitted: Past) -> None:
    """Each thing that is not there any more, once."""
    records = [each.id for each in fitted.dropped]
    assert len(records) == len(set(records))
    assert sum(each.tokens for each in fitted.dropped) == 0
    gone = len(before.history) - len(fitted.messages)
    assert ids(before.history[gone:]) == ids(fitted.messages)
    assert [each.id for each in fitted.dropped if each.kind == "message"] == ids(before.history[:gone])
    changed = [each.id for one, each in zip(before.history[gone:], fitted.messages, strict=True) if one != each]
    assert {each.id.split("/")[0] for each in fitted.dropped if each.state == "elided"} == set(changed)


# -- in which order --


def test_old_results_go_first_and_all_at_once() -> None:
    past = history(500, 3, 500, 500, 500, 500)
    fitted = fit(parts(past), size(past) - 1, POLICY, PLAIN)
    note = "[tool result elided - 500 tokens]"
    assert results(fitted.messages) == [note, tokens(3), note, *[tokens(500)] * 3]
    assert (ids(fitted.messages), len(fitted.dropped)) == (ids(past), 2)
    assert {(each.kind, each.state, each.why) for each in fitted.dropped} == {("tool_result", "elided", "budget")}


def test_then_the_oldest_rounds_in_one_step_down_to_half() -> None:
    past = history(*[0] * 40, words=100)
    limit = size(past) - 1
    fitted = fit(parts(past), limit, POLICY, PLAIN)
    assert limit * 0.45 < size(fitted.messages) <= limit * 0.5
    assert fitted.messages[0].role == "user"


def test_a_refusal_says_what_takes_the_room() -> None:
    past = history(50, 50, 50)
    given_parts = parts(past, fixed=600, summary_tokens=20, system=300, tools=100)
    with pytest.raises(BudgetExceeded) as caught:
        fit(given_parts, 640, POLICY, PLAIN)
    assert caught.value.code == "BUDGET_EXCEEDED"
    took = {"system": 300, "tools": 100, "turn": 200, "summary": 20, "history": size(past)}
    largest = caught.value.details.pop("largest")
    assert caught.value.details == {"needed": sum(took.values()), "limit": 640, "library": 0} | took
    assert largest[0] == {"kind": "tools", "id": "definitions", "tokens": 100}
    assert [each["kind"] for each in largest[1:]] == ["message", "message"]
