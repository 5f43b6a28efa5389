"""Where the real programs differ: compactions, resumed sessions, trust, limits, and prompts that nobody typed."""

from collections.abc import Callable

import pytest
from support.runtimes.bed import Bed
from support.runtimes.hook import Answer
from support.runtimes.programs import ClaudeCode, Codex, Gemini

pytestmark = pytest.mark.by_hand
Start = Callable[..., Bed]


@pytest.mark.parametrize("program", [ClaudeCode, Codex], ids=lambda program: program.name)
def test_after_a_compaction_the_program_asks_anew_and_what_it_was_told_before_is_gone(
    program: type[ClaudeCode | Codex], start: Start
) -> None:
    bed = start(program, "SessionStart")
    bed.ask("What next?", context="looking at: Plan.md")
    bed.hook.answers(SessionStart=Answer(program.context("SessionStart", "all of it")))
    bed.program.compact()
    bed.ask("And then?")
    assert "compact" in [told.get("source") for told in bed.hook.told()]
    last = bed.read("looking at: Plan.md", "all of it", "And then?")[-1]
    assert "looking at: Plan.md" not in last
    assert "all of it" in last


@pytest.mark.parametrize("extra", [0, 1])
def test_claude_code_shows_a_text_over_10000_characters_as_a_preview(start: Start, extra: int) -> None:
    text = "x" * (9_996 + extra) + ".end"
    bed = start(ClaudeCode)
    bed.ask("What next?", context=text)
    assert bed.read(text, "<persisted-output>") == [["<persisted-output>"] if extra else [text]]


@pytest.mark.parametrize("extra", [0, 1])
def test_codex_cuts_the_middle_out_of_a_text_over_10000_bytes(start: Start, extra: int) -> None:
    text = "x" * (9_996 + extra) + ".end"
    bed = start(Codex)
    bed.ask("What next?", context=text)
    assert bed.read(text, "tokens truncated") == [["tokens truncated"] if extra else [text]]


def test_codex_runs_no_hook_that_nobody_trusted_and_says_nothing_of_it(start: Start) -> None:
    bed = start(Codex)
    assert isinstance(bed.program, Codex)
    bed.program.trusting = False
    bed.ask("What next?", context="looking at: Plan.md")
    assert bed.hook.told() == []
    assert bed.read("looking at: Plan.md") == [[]]


def test_gemini_forgets_words_before_which_it_put_the_context_of_a_sessions_start(start: Start) -> None:
    bed = start(Gemini, "SessionStart")
    bed.ask("What next?", context="all of it", event="SessionStart")
    bed.ask("And then?")
    assert bed.read("all of it", "What next?", "And then?") == [["all of it", "What next?"], ["And then?"]]
