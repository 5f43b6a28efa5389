"""Prompts that fit: what goes first, what is never touched, and how seldom a provider's cache is lost by it."""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_conversations import NamedTalk, talks

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import PROMPTS_MAX
from workspaced_events.schema.catalogue import LibraryEntry
from workspaced_tools.errors import BudgetExceeded
from workspaced_tools.prompts.assembly.budget import Fitted, Parts, fit
from workspaced_tools.prompts.assembly.history import history_of, last_rounds, paired
from workspaced_tools.prompts.model.token_estimator import IMAGE_TOKENS, Estimator
from workspaced_tools.prompts.model.types import Block, ChatMessage, Policy

PLAIN = Estimator(1.0)
POLICY = Policy()
NONE: tuple[str, ...] = ()


def parts(history: Sequence[ChatMessage] = (), library: Sequence[LibraryEntry] = (), **given: Any) -> Parts:
    return Parts(
        **({"fixed": 0, "library_frame": 10, "summary_tokens": 0} | given),
        history=tuple(history),
        library=tuple(library),
    )


def entry(name: str, tokens: int) -> LibraryEntry:
    return LibraryEntry(name, "note", "0" * 64, "0" * 64, tokens, MessageId("m"))


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
    messages: tuple[ChatMessage, ...] = history_of(talk.now, end, talk.texts).messages
    return messages


# -- any prompt --

libraries = st.lists(st.integers(0, 400), max_size=6).map(
    lambda sizes: [entry(f"n{number}.md", each) for number, each in enumerate(sizes)]
)
policies = st.builds(Policy, keep_rounds=st.integers(0, 4), slide_to=st.sampled_from([0.25, 0.5, 0.9]))


@settings(max_examples=examples(250))
@given(st.data())
def test_a_prompt_fits_or_is_refused_and_the_last_rounds_are_never_touched(data: st.DataObject) -> None:
    talk = data.draw(talks())
    past = history_of(talk.now, list(talk.now.messages)[-1], talk.texts).messages
    library, policy = data.draw(libraries), data.draw(policies)
    limit, fixed = data.draw(st.integers(0, 3_000)), data.draw(st.integers(0, 1_000))
    estimator = Estimator(data.draw(st.sampled_from([0.5, 1.0, 1.3])))
    latest = data.draw(st.permutations([each.id for each in library]))
    given_parts = parts(past, library, fixed=fixed)
    protected = past[last_rounds(past, policy.keep_rounds) :]
    needed = fixed + sum(map(estimator.message_tokens, protected))
    try:
        fitted = fit(given_parts, limit, policy, estimator, latest)
    except BudgetExceeded as error:
        assert error.details["needed"] == needed > limit
        return
    assert needed <= fitted.estimate <= limit
    kept = library if fitted.library is None else fitted.library
    beside = sum(estimator.calibrated(each.tokens) for each in kept) + (10 if kept else 0)
    assert fitted.estimate == fixed + sum(map(estimator.message_tokens, fitted.history)) + beside
    assert fitted.history[len(fitted.history) - len(protected) :] == protected
    assert paired(fitted.history) == (fitted.history, ())
    assert fitted == fit(given_parts, limit, policy, estimator, latest)
    assert [each for each in library if each in kept] == list(kept)
    assert_recorded(given_parts, fitted)


def assert_recorded(before: Parts, fitted: Fitted) -> None:
    """Each thing that is not there any more, once; and `elided_until` says up to where."""
    records = [each.id for each in fitted.entries]
    assert fitted.elided == len(records) == len(set(records))
    assert sum(each.tokens for each in fitted.entries) == 0
    gone = len(before.history) - len(fitted.history)
    assert fitted.elided_until == (before.history[gone - 1].id if gone else None)
    assert ids(before.history[gone:]) == ids(fitted.history)
    assert [each.id for each in fitted.entries if each.kind == "message"] == ids(before.history[:gone])
    changed = [each.id for one, each in zip(before.history[gone:], fitted.history, strict=True) if one != each]
    assert {each.id.split("/")[0] for each in fitted.entries if each.state == "elided"} == set(changed)
    kept = before.library if fitted.library is None else fitted.library
    lost = [each.id for each in before.library if each not in kept]
    assert [each.id for each in fitted.entries if each.layer == "L2_PREVIOUS"] == lost


@settings(max_examples=examples(100))
@given(talks(), st.integers(0, 2_000))
def test_what_fits_is_left_as_it_is(talk: NamedTalk, spare: int) -> None:
    past = history_of(talk.now, list(talk.now.messages)[-1], talk.texts).messages
    whole = parts(past, [entry("a.md", 100)], fixed=50, summary_tokens=5)
    estimate = size(past) + 100 + 10 + 50 + 5
    assert fit(whole, estimate + spare, POLICY, PLAIN, NONE) == Fitted(past, None, (), 0, None, estimate)


@settings(max_examples=examples(100))
@given(talks(), st.integers(0, 1_500), st.integers(0, 1_500))
def test_more_room_never_leaves_less_of_the_history(talk: NamedTalk, one: int, more: int) -> None:
    past = history_of(talk.now, list(talk.now.messages)[-1], talk.texts).messages
    try:
        less = fit(parts(past), one, POLICY, PLAIN, NONE)
    except BudgetExceeded:
        assume(False)
    assert len(fit(parts(past), one + more, POLICY, PLAIN, NONE).history) >= len(less.history)


# -- in which order --


def test_old_results_go_first_and_all_at_once() -> None:
    past = history(500, 3, 500, 500, 500, 500)
    fitted = fit(parts(past), size(past) - 1, POLICY, PLAIN, NONE)
    note = "[tool result elided - 500 tokens]"
    assert results(fitted.history) == [note, tokens(3), note, *[tokens(500)] * 3]
    assert (ids(fitted.history), fitted.elided_until, fitted.elided) == (ids(past), None, 2)
    assert {(each.kind, each.state, each.why) for each in fitted.entries} == {("tool_result", "elided", "budget")}


def test_then_old_images() -> None:
    image = Block("image", blob="0" * 64, media_type="image/png")
    past = [ChatMessage("user", (Block("text", f"look {n}"), image), MessageId(f"m{n}")) for n in range(5)]
    fitted = fit(parts(past), size(past) - 1, POLICY, PLAIN, NONE)
    shown = [message.content[1].text for message in fitted.history]
    assert shown == ["[image elided]", "[image elided]", None, None, None]
    assert fitted.estimate < 3 * IMAGE_TOKENS + 100
    assert {(each.kind, each.state) for each in fitted.entries} == {("image", "elided")}
    with_results = (*history(500, 0, 0, 0), *past)
    fewer = fit(parts(with_results), size(with_results) - 400, POLICY, PLAIN, NONE)
    assert [each.kind for each in fewer.entries] == ["tool_result"]


def test_then_the_oldest_rounds_in_one_step_down_to_half() -> None:
    past = history(*[0] * 40, words=100)
    limit = size(past) - 1
    fitted = fit(parts(past), limit, POLICY, PLAIN, NONE)
    assert limit * 0.45 < fitted.estimate <= limit * 0.5
    assert fitted.history[0].role == "user"
    assert past[len(past) - len(fitted.history) - 1].id == fitted.elided_until


def test_no_more_rounds_go_than_there_are_old_ones() -> None:
    past = history(0, 0, 0, 0, words=100)
    fitted = fit(parts(past, fixed=500), 500 + size(past) - 1, POLICY, PLAIN, NONE)
    assert (ids(fitted.history)[0], fitted.elided_until) == ("t1", "t0.answer")


def test_then_the_library_keeps_what_was_referred_to_last() -> None:
    library = [entry(f"n{number}.md", 100) for number in range(10)]
    fitted = fit(parts((), library), 1_000, POLICY, PLAIN, ["n3.md", "n9.md", "n0.md"])
    assert fitted.library is not None
    assert [each.id for each in fitted.library] == ["n0.md", "n3.md", "n8.md", "n9.md"]
    assert fitted.estimate == 410
    assert {(each.layer, each.state, each.why) for each in fitted.entries} == {
        ("L2_PREVIOUS", "dropped", "budget")
    }


def test_a_library_beside_much_else_keeps_its_part_of_the_room_that_is_left() -> None:
    library = [entry(f"n{number}.md", 100) for number in range(10)]
    fitted = fit(parts((), library, fixed=800), 1_400, POLICY, PLAIN, NONE)
    assert fitted.estimate == 800 + 210
    alone = fit(parts((), library, fixed=1_395), 1_400, POLICY, PLAIN, NONE)
    assert (alone.library, alone.estimate) == ((), 1_395)


def test_a_refusal_says_what_takes_the_room() -> None:
    past = history(50, 50, 50)
    given_parts = parts(past, [entry("a.md", 70)], fixed=600, summary_tokens=20, system=300, tools=100)
    with pytest.raises(BudgetExceeded) as caught:
        fit(given_parts, 640, POLICY, PLAIN, NONE)
    assert caught.value.code == "BUDGET_EXCEEDED"
    took = {"system": 300, "tools": 100, "turn": 200, "summary": 20, "history": size(past)}
    largest = caught.value.details.pop("largest")
    assert caught.value.details == {"needed": sum(took.values()), "limit": 640, "library": 80} | took
    assert largest[0] == {"kind": "tools", "id": "definitions", "tokens": 100}
    assert [each["kind"] for each in largest[1:]] == ["message", "message"]


@pytest.mark.parametrize("limit", [0, -5, 99])
def test_a_limit_below_the_system_prompt_is_refused(limit: int) -> None:
    with pytest.raises(BudgetExceeded):
        fit(parts(fixed=100, system=100), limit, POLICY, PLAIN, NONE)


# -- turn after turn --


class Chat:
    """A conversation whose prompts are made and recorded, one a turn, within 10,000 tokens."""

    def __init__(self) -> None:
        self.talk = NamedTalk()
        self.prompts: list[Fitted] = []

    def turn(self, words: int = 10, found: int | None = None, fixed: int = 0, factor: float = 1.0) -> Fitted:
        name = f"t{len(self.prompts)}"
        message = self.talk.ask(name, tokens(words))
        past = history_of(self.talk.now, message, self.talk.texts)
        fitted = fit(parts(past.messages, fixed=fixed), 10_000, POLICY, Estimator(factor), NONE)
        self.talk.sent(message, fitted.elided, fitted.elided_until)
        self.prompts.append(fitted)
        self.talk.answer(name, tokens(words), None if found is None else tokens(found))
        return fitted

    @property
    def slides(self) -> int:
        return sum(each.elided_until is not None for each in self.prompts)

    @property
    def breaks(self) -> int:
        """How often a prompt does not go on as the one before began."""
        return sum(two.history[: len(one.history)] != one.history for one, two in pairwise(self.prompts))

    @property
    def anew(self) -> float:
        """The part of all histories' tokens that comes after where a prompt differs from the one before."""
        every = sum(size(each.history) for each in self.prompts)
        again = 0
        for one, two in pairwise(self.prompts):
            pairs = zip(one.history, two.history, strict=False)
            again += size([new for _, new in takewhile(lambda pair: pair[0] == pair[1], pairs)])
        return 1 - again / every


def test_a_history_that_never_shrinks_slides_a_handful_of_times_in_two_hundred_turns() -> None:
    chat = Chat()
    for _ in range(200):
        chat.turn(words=100)
    assert 2 <= chat.slides <= 10
    assert chat.breaks == chat.slides
    assert chat.anew <= 0.1


@pytest.mark.parametrize("found", [50, 400, 800])
def test_results_are_shortened_in_batches(found: int) -> None:
    chat = Chat()
    for _ in range(200):
        chat.turn(words=30, found=found)
    assert chat.slides <= 10
    assert chat.breaks == sum(each.elided > 0 for each in chat.prompts)
    assert chat.anew <= 0.2
    assert all(each.estimate <= 10_000 for each in chat.prompts)


def test_what_was_shortened_for_one_large_turn_stays_so_when_there_is_room_again() -> None:
    chat = Chat()
    for _ in range(10):
        chat.turn(found=500)
    large = chat.turn(found=500, fixed=9_000 - 1_200)
    assert large.elided == 7
    for _ in range(8):
        later = chat.turn(found=100)
        assert later.elided == 0
        assert later.history[: len(large.history)] == large.history


@settings(max_examples=examples(60))
@given(st.data())
def test_what_is_elided_stays_elided(data: st.DataObject) -> None:
    """Whatever this turn holds besides, and however the estimator's factor moves, for as long as is remembered."""
    chat = Chat()
    gone: set[str] = set()
    last: tuple[ChatMessage, ...] = ()
    for _ in range(data.draw(st.integers(5, 40))):
        fitted = chat.turn(
            words=data.draw(st.sampled_from([5, 100, 400])),
            found=data.draw(st.sampled_from([None, 5, 300, 900])),
            fixed=data.draw(st.sampled_from([0, 1_000, 3_000])),
            factor=data.draw(st.sampled_from([0.9, 1.0, 1.2])),
        )
        if fitted.elided == 0:
            assert fitted.history[: len(last)] == last
        shown = {message.id: message for message in fitted.history}
        assert not gone & {str(message) for message in shown}
        for message in last:
            if message.id not in shown:
                gone.add(str(message.id))
            elif "elided" in str(message.content):
                assert shown[message.id] == message
        last = fitted.history


def test_once_the_prompt_that_shortened_is_forgotten_it_is_decided_anew() -> None:
    chat = Chat()
    for _ in range(10):
        chat.turn(found=500)
    assert chat.turn(fixed=7_800).elided
    for _ in range(PROMPTS_MAX):
        assert chat.turn().elided == 0
    assert "elided" in str(chat.prompts[-1].history)
    chat.turn()
    assert "elided" not in str(chat.prompts[-1].history)
    assert chat.breaks == 2
