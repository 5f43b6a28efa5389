"""Where the real programs differ: compactions, resumed sessions, trust, limits, and prompts that nobody typed."""

from collections.abc import Callable

import pytest
from support.runtimes import trust
from support.runtimes.bed import Bed
from support.runtimes.hook import Answer
from support.runtimes.model import messages
from support.runtimes.programs import ClaudeCode, Codex, Gemini
from support.runtimes.recordings import TASK

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


def test_claude_code_makes_a_prompt_of_a_subagents_result_without_its_id(start: Start) -> None:
    bed = start(ClaudeCode, "SubagentStart")
    bed.program.ask_for_tool(bed.model)
    prompts = [told for told in bed.hook.told() if told["hook_event_name"] == "UserPromptSubmit"]
    assert [told["prompt"].startswith(TASK) for told in prompts] == [False, True]
    assert not any("agent_id" in told for told in prompts)


def test_claude_code_puts_the_context_of_older_models_into_the_users_message(start: Start) -> None:
    bed = start(ClaudeCode)
    event = bed.program.prompt
    bed.hook.answers(**{event: Answer(bed.program.context(event, "looking at: Plan.md"))})
    bed.program.ask("What next?")
    bed.program.ask("And then?", "--model", "claude-sonnet-4-5")
    places = [
        [role for role, text in messages(body) if "looking at: Plan.md" in text] for body in bed.model.bodies
    ]
    assert places[0] == ["system"]
    assert set(places[1]) == {"user"}


@pytest.mark.parametrize("extra", [0, 1])
def test_claude_code_shows_a_text_over_10000_characters_as_a_preview(start: Start, extra: int) -> None:
    text = "x" * (9_996 + extra) + ".end"
    bed = start(ClaudeCode)
    bed.ask("What next?", context=text)
    assert bed.read(text, "<persisted-output>") == [["<persisted-output>"] if extra else [text]]


def test_codex_asks_its_hook_for_a_subagents_prompt_too_with_its_id(start: Start) -> None:
    bed = start(Codex)
    bed.program.ask_for_tool(bed.model)
    prompts = {told["prompt"]: told for told in bed.hook.told()}
    assert ["agent_id" in prompts[words] for words in ("Delegate this.", "Look around.")] == [False, True]
    assert len({told["session_id"] for told in prompts.values()}) == 1


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


def test_codex_runs_a_hook_whose_hash_is_on_record_until_the_hook_changes(start: Start) -> None:
    bed = start(Codex)
    assert isinstance(bed.program, Codex)
    bed.program.trusting = False
    trust.record(bed.program)
    bed.ask("What next?", context="looking at: Plan.md")
    assert bed.read("looking at: Plan.md") == [["looking at: Plan.md"]]
    hooks = bed.program.home / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 3', '"timeout": 4'))
    bed.ask("And then?", context="closed: Plan.md")
    assert bed.read("closed: Plan.md")[-1] == []


def test_gemini_forgets_words_before_which_it_put_the_context_of_a_sessions_start(start: Start) -> None:
    bed = start(Gemini, "SessionStart")
    bed.ask("What next?", context="all of it", event="SessionStart")
    bed.ask("And then?")
    assert bed.read("all of it", "What next?", "And then?") == [["all of it", "What next?"], ["And then?"]]


def test_gemini_announces_a_compression_with_every_prompt(start: Start) -> None:
    bed = start(Gemini, "PreCompress")
    bed.ask("What next?", context="looking at: Plan.md")
    bed.ask("And then?")
    events = [(told["hook_event_name"], told.get("trigger")) for told in bed.hook.told()]
    assert events == [("BeforeAgent", None), ("PreCompress", "auto")] * 2
    assert bed.read("looking at: Plan.md")[-1] == ["looking at: Plan.md"]
