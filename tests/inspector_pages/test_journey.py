"""Whole ways through the page: from a wrong answer to its cause, and from a call to a file that replays it."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import process
from support.inspector import Inspector
from support.inspector_page import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

KICKOFF = "projects/ferrybook/Kickoff.md"

pytestmark = pytest.mark.thorough

Inspect = Callable[[Path], Inspector]


def test_the_first_page_says_what_the_prompt_read_and_what_the_note_said(
    open_page: OpenPage, morning: Inspector
) -> None:
    page = open_page(morning.url).page
    found = page.get_by_role("listitem").filter(
        has_text=f"A prompt read “22 June”; {KICKOFF} said “29 June” since "
    )
    found.get_by_text("The model then said: Release 1 comes on 22 June.").wait_for()
    assert found.locator(".removed").filter(has_text="**22 June**").count() == 1
    assert found.locator(".added").filter(has_text="**29 June**").count() == 1
    for name, shown in (
        ("prompt 167", page.get_by_role("heading", name="Prompt 167")),
        ("the edit, event 146", page.get_by_role("link", name="event 146").first),
        ("the note's life", page.get_by_role("heading", name=f"Why: {KICKOFF}")),
    ):
        found.get_by_role("link", name=name).click()
        shown.wait_for()
        page.go_back()
        found.wait_for()


def answered(page: "Page", seq: int) -> str:
    """The bytes that a call was answered, once it is replayed to the same."""
    page.locator("#view").get_by_role("link", name=str(seq), exact=True).click()
    page.get_by_text("replays: same").wait_for()
    page.get_by_role("button", name="as answered").click()
    return page.locator("pre.answer").inner_text()


def test_a_call_is_passed_on_by_the_command_that_the_page_gives_and_answers_the_same_bytes(
    daemon: Any, inspect: Inspect, open_page: OpenPage, tmp_path: Path
) -> None:
    running = daemon(notes={"a.md": '# A\n\nBlau \u2014 and "quoted".\n'})
    with running.connect("agent") as agent:
        agent.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        said = agent.tool("get_current_note")
        agent.call("workspaced/calls")  # once it is recorded
        agent.publish([{"type": "note_pinned", "data": {"note": "a.md"}}])
    running.stop()

    first_inspector = inspect(running.data)
    (call,) = first_inspector.get("/api/calls")["calls"]
    first = open_page(first_inspector.url).show("call")
    answer = answered(first, call["seq"])
    assert "Blau" in answer and said
    (line,) = first.locator(".command code").filter(has_text="workspaced bundle").all_inner_texts()
    made = process.run(*shlex.split(line)[1:], cwd=tmp_path, env=running.env)
    assert made.returncode == 0, made.stderr

    second = open_page(inspect(tmp_path / f"call-{call['seq']}.wsb").url).show("call")
    assert answered(second, call["seq"]) == answer
    assert second.locator(".command", has_text="workspaced bundle").count() == 0
