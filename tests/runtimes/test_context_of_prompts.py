"""What a hook answers to a prompt reaches the model of each real program, once, and stays in the session."""

from collections.abc import Callable

import pytest
from support.runtimes.bed import Bed
from support.runtimes.hook import Answer
from support.runtimes.programs import PROGRAMS, Gemini

pytestmark = pytest.mark.by_hand
Start = Callable[..., Bed]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def bed(request: pytest.FixtureRequest, start: Start) -> Bed:
    """Of each program, with a hook for prompts alone."""
    return start(request.param)


def test_the_context_of_a_prompt_stands_behind_its_words_once(bed: Bed) -> None:
    bed.ask("What next?", context="looking at: Plan.md")
    assert bed.read("What next?", "looking at: Plan.md") == [["What next?", "looking at: Plan.md"]]
    assert [told["prompt"] for told in bed.hook.told()] == ["What next?"]


def test_it_stays_where_it_was_in_a_session_that_goes_on(bed: Bed) -> None:
    bed.ask("What next?", context="looking at: Plan.md")
    bed.ask("And then?")
    bed.ask("At last?", context="closed: Plan.md")
    spoken = ("What next?", "And then?", "At last?", "looking at: Plan.md", "closed: Plan.md")
    first = ["What next?", "looking at: Plan.md"]
    assert bed.read(*spoken) == [
        first,
        [*first, "And then?"],
        [*first, "And then?", "At last?", "closed: Plan.md"],
    ]
    assert len({told["session_id"] for told in bed.hook.told()}) == 1


@pytest.mark.parametrize("text", ["looking at: Plan.md\n" * 300, "naïve café\n" * 500], ids=["ascii", "accents"])
def test_a_text_of_6000_bytes_arrives_whole(bed: Bed, text: str) -> None:
    whole = text.encode()[:6_000].decode().strip()
    bed.ask("What next?", context=whole)
    assert bed.read(whole) == [[whole]]


def test_angle_brackets_arrive_as_they_are_but_in_gemini(bed: Bed) -> None:
    bed.ask("What next?", context='<workspace as-of="3">a & b</workspace>')
    arrived = '<workspace as-of="3">a & b</workspace>'
    if isinstance(bed.program, Gemini):
        arrived = '&lt;workspace as-of="3"&gt;a & b&lt;/workspace&gt;'
    assert bed.read(arrived) == [[arrived]]


NOTHING = {"nothing": Answer(), "an empty object": Answer("{}"), "a hook that hangs": Answer(hangs=True)}


@pytest.mark.parametrize("answer", NOTHING.values(), ids=NOTHING)
def test_a_hook_that_says_nothing_keeps_no_prompt_from_its_answer(bed: Bed, answer: Answer) -> None:
    assert answering(bed, answer, "What next?", "hook additional context", "<hook_context>") == ["What next?"]


def answering(bed: Bed, answer: Answer, *texts: str) -> list[str]:
    """Which of the texts the model reads with a prompt for which the hook does so; the prompt is answered."""
    bed.hook.answers(**{bed.program.prompt: answer})
    assert "Answer 1." in bed.program.ask("What next?")
    return bed.read(*texts)[0]
