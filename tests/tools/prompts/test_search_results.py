"""What searches found: written as such, numbered through the turn, and the same wherever the turn is shown."""

from typing import Any

import pytest
from support import conversation as w

from workspaced_tools.prompts.sources.search_block import Document

RYE, OAT, FIG = (Document(name.title(), f"{name}.md", f"All of {name}.") for name in ("rye", "oat", "fig"))


def numbers(made: Any) -> list[str]:
    """The documents in the order shown: number and source."""
    lines = w.whole(made).splitlines()
    return [
        line.removeprefix("<source_number>").removesuffix("</source_number>")
        + " "
        + lines[at + 2].removeprefix("<source>").removesuffix("</source>")
        for at, line in enumerate(lines)
        if line.startswith("<source_number>")
    ]


def catalogue(chat: Any, **of: Any) -> list[str]:
    turn = chat.acquired(**of)
    return [f"{each.number} {each.source}" for each in w.sources_of(chat.now, turn, chat.texts)]


def test_numbers_run_through_the_turn_attachments_first_then_its_rounds(chat: Any) -> None:
    chat.say("Which?", chat.search("s1", "q", RYE, OAT), chat.search("s2", "q", OAT, FIG))
    chat.answer(None, "call-1", "call-2")
    chat.search_results(
        ("call-1", chat.found("x", Document("New", "new.md", "."), FIG)), ("call-2", chat.found("y", RYE))
    )
    made = chat.prompt()
    shown = numbers(made)
    assert sorted(shown) == sorted(
        ["1 rye.md", "2 oat.md", "2 oat.md", "3 fig.md", "4 new.md", "3 fig.md", "1 rye.md"]
    )
    assert catalogue(chat) == ["1 rye.md", "2 oat.md", "3 fig.md", "4 new.md"]
    assert all(block.text and "excerpts" in block.text for block in w.spoken(made)[-1].content)


def test_in_the_history_a_round_has_the_numbers_of_its_own_turn(chat: Any) -> None:
    chat.say("Which?", chat.search("s1", "q", RYE, OAT))
    chat.prompt()
    chat.answer(None, "call-1")
    chat.search_results(("call-1", chat.found("x", FIG, RYE)))
    then = chat.prompt()
    chat.answer("Figs [^3].")
    chat.say("And?", chat.search("s2", "q", OAT))
    made = chat.prompt()
    assert sorted(numbers(made)) == ["1 oat.md", "1 rye.md", "1 rye.md", "2 oat.md", "3 fig.md"]
    assert w.spoken(made)[2] == w.spoken(then)[2]  # the very same bytes
    assert catalogue(chat) == ["1 oat.md"]
    chat.answer()
    later = chat.turn("Last.")
    assert numbers(later) == numbers(made)


@pytest.mark.parametrize("form", ["text", "search"])
def test_that_a_tool_failed_reaches_the_model_wherever_its_result_stands(chat: Any, form: str) -> None:
    chat.say("Which?")
    chat.answer(None, "call-1")
    blob = chat.found("q", RYE) if form == "search" else chat.keep(b"It broke.")
    chat.message("user", tool_results=(w.c.ToolResult("call-1", "look_up", blob, True, form),))
    now = chat.prompt()
    chat.answer()
    later = chat.turn("And now?")
    for made, layer in ((now, "L3_TURN"), (later, "L4_STRIP")):
        assert [b.is_error for m in made.envelope.messages for b in m.content if b.type == "toolResult"] == [True]
        assert "[toolResult look_up call-1 error]" in w.layer_text(made, layer)
        assert ("It broke." if form == "text" else "All of rye.") in w.whole(made)
