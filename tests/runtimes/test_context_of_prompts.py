"""What a hook answers to a prompt reaches the model of each real program, once, and stays in the session."""

from collections.abc import Callable

import pytest
from support.runtimes.hook import Answer, RecordingHook
from support.runtimes.model import ScriptedModel, messages
from support.runtimes.programs import PROGRAMS, Program

pytestmark = pytest.mark.thorough
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
Start = Callable[..., Program]


def holding(model: ScriptedModel, *texts: str) -> list[list[str]]:
    """Of each request: which of the texts stand in its messages, in their order there."""
    return [[text for _, given in messages(body) for text in texts if text in given] for body in model.bodies]


@each_program
def test_the_context_of_a_prompt_stands_behind_its_words_once(
    program: type[Program], start: Start, model: ScriptedModel, hook: RecordingHook
) -> None:
    running = start(program)
    hook.answers(**{program.prompt: Answer(program.context(program.prompt, "looking at: Plan.md"))})
    running.ask("What next?")
    assert holding(model, "What next?", "looking at: Plan.md") == [["What next?", "looking at: Plan.md"]]
    assert [told["prompt"] for told in hook.told()] == ["What next?"]
