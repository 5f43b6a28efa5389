"""Whole ways through the page: from a wrong answer to its cause, and from a bug to a file that shows it."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import process
from support.inspector import Inspector
from support.inspector_page import InspectorPage, OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

KICKOFF = "projects/ferrybook/Kickoff.md"
BUG = f"activeNote.id == '{KICKOFF}' && length(pinnedNotes) > `3`"
"""What must not be: it is so after event 144."""
WHAT_IT_SHOWS = "[activeNote.id, length(pinnedNotes)]"

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


def found(page: "Page", expression: str) -> list[str]:
    """Finds and shrinks as a person does; the words of the few events."""
    page.get_by_role("combobox", name="Expression").fill(expression)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Take it with you").wait_for()
    words = page.locator(".story .step-words").all_inner_texts()
    return [each.split(" event ")[0] for each in words]


def value_there(opened: InspectorPage, expression: str) -> str:
    """What an expression gives at the moment that the search found."""
    page = opened.page
    page.get_by_role("link", name=re.compile("^event [0-9]+$")).and_(page.locator("h3 + p a")).click()
    page.locator("#moment-title").wait_for()
    opened.settled()
    opened.show("find")
    page.get_by_role("combobox", name="Expression").fill(expression)
    page.keyboard.press("Escape")
    return page.locator("#trial code").inner_text()


def saved(page: "Page", button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def test_a_planted_bug_is_found_shrunk_and_the_same_in_a_second_inspector(
    inspect: Inspect, open_page: OpenPage, morning: Inspector, tmp_path: Path
) -> None:
    searched = open_page(morning.url)
    first = searched.show("find")
    story = found(first, BUG)
    assert searched.accessibility_violations() == []
    assert first.evaluate("decodeURIComponent(location.hash)") == f"#/find/{BUG}"
    first.locator("h3 + p").get_by_role("link", name="event 145").wait_for()
    assert 5 <= len(story) < 20
    bundle = saved(first, "Bundle (found.wsb)", tmp_path)
    value = value_there(searched, WHAT_IT_SHOWS)
    assert value == f'["{KICKOFF}",4]'

    searched = open_page(inspect(bundle).url)
    second = searched.show("find")
    assert found(second, BUG) == story
    second.locator(".story a").last.click()
    second.wait_for_url(f"**/#/at/{len(story)}")
    searched.settled()
    assert second.locator(".active-note").inner_text().split()[0] == KICKOFF
    found(searched.show("find"), BUG)
    assert value_there(searched, WHAT_IT_SHOWS) == value


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
