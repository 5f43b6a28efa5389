"""How one thing is written in a prompt: nothing in a title, path or text gets out of its block."""

import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.diffs import applied

from workspaced_tools.prompts.model.blocks import (
    REPLACES_EARLIER,
    above_line,
    artifact_block,
    provider_unavailable,
    unavailable,
)
from workspaced_tools.prompts.model.changes import LINES_MAX, line_changes, unified_diff
from workspaced_tools.prompts.model.types import Artifact, Provided

NAMES: Final = [
    *("note_context", "active_note", "selected_text", "tool_result", "pinned_context", "conversation_summary"),
    *("url", "pdf", "file", "dataview", "content", "title", "path", "replaces_earlier"),
]
CLOSINGS: Final = [spelt.format(name) for name in NAMES for spelt in ("</{}>", "</ {}\n>", "&lt;/{}>", "<{}>")]
HOSTILE: Final = [
    *CLOSINGS,
    "\n",
    "\r\n",
    "- x.md (active)",
    "---",
    "[User query]:",
    REPLACES_EARLIER,
    "]",
    "\u202e",
    "a",
    " ",
]
texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        *[
            (each, each)
            for each in ("localSearch", "webSearch", "web_search", "search", "Web_Search", "find-notes")
        ],
        *[(each, each) for each in ("mcp__notes__find", "find-notes", "x", "X" * 64)],
        *[
            (each, "tool_result")
            for each in ("note_context", "noteContext", "NOTE-CONTEXT", "System", "userQuery")
        ],
        *[
            (each, "tool_result")
            for each in ("documentSources", "pinnedContext", "Content", "toolResult", "X" * 65)
        ],
        *[(each, "tool_result") for each in ("", "a b><system>", "_x", "1x", "naïve", "a.b", "x\n")],
    ],
)
def test_a_tools_result_is_named_as_the_tool_was_called(tool: str, name: str) -> None:
    block = artifact_block(Artifact("tool_result", "1", tool), f"x </{tool}> y </{name}>", fence="chat")
    own = block.partition(">")[0][1:]
    assert re.fullmatch(f"{name}-[0-9a-f]+", own) and block.endswith(f"\n</{own}>")


@given(texts)
def test_what_names_a_thing_in_passing_is_one_line(name: str) -> None:
    for line in (
        above_line(name, active=True),
        unavailable(Artifact("note", name, "")),
        unavailable(Artifact("image", "x", name)),
        provider_unavailable(Provided(name, "note")),
    ):
        assert line.splitlines() == [line]
        assert "<" not in line


lines = st.lists(st.sampled_from(["", "a", "b", " c", "-d", "+e", "@@ -1,1 +1,1 @@", "é\r"]), max_size=30)


@given(lines, lines, st.integers(0, 3))
def test_applied_to_the_text_before_it_gives_the_text_after(one: list[str], two: list[str], context: int) -> None:
    before, after = "\n".join(one), "\n".join(two)
    diff = unified_diff(before, after, context=context)
    assert applied(before, diff) == after if diff else before == after


def test_texts_too_long_to_compare_have_no_diff() -> None:
    one = "\n".join(f"one {number}" for number in range(LINES_MAX))
    two = "\n".join(f"two {number}" for number in range(LINES_MAX))
    assert unified_diff(one, two) == ""
    assert line_changes(one, two + "\nmore") == (1, 0)
