"""Whole ways through the page: from a wrong answer to its cause, and from a bug to a file that shows it."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import process
from support.inspector import Inspector
from support.inspector_page import OpenPage

from workspaced.demo import morning

if TYPE_CHECKING:
    from playwright.sync_api import Page

MORNING = Path(morning.__file__).with_name("morning.wsb")
KICKOFF = "projects/ferrybook/Kickoff.md"
BUG = f"activeNote.id == '{KICKOFF}' && length(pinnedNotes) > `3`"
"""What must not be: it is so after event 144."""
WHAT_IT_SHOWS = "[activeNote.id, length(pinnedNotes)]"

pytestmark = pytest.mark.thorough

Inspect = Callable[[Path], Inspector]


def opened(open_page: OpenPage, inspector: Inspector, link: str) -> "Page":
    page = open_page(inspector.url).page
    page.get_by_role("navigation", name="Views").wait_for()
    follow(page, link)
    return page


def follow(page: "Page", link: str) -> None:
    page.evaluate("link => { location.hash = link; }", link)


def settled(page: "Page") -> None:
    page.locator("main#view:not(:has([aria-busy=true], .stale))").wait_for()


def test_the_first_page_says_what_the_prompt_read_and_what_the_note_said(
    inspect: Inspect, open_page: OpenPage
) -> None:
    page = open_page(inspect(MORNING).url).page
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


def test_a_newcomer_finds_why_an_answer_was_wrong_by_clicking(inspect: Inspect, open_page: OpenPage) -> None:
    page = opened(open_page, inspect(MORNING), "#/at")
    page.get_by_role("link", name="Prompts", exact=True).click()
    talk = page.get_by_role("row").filter(has_text="3 prompts with older notes")
    talk.get_by_role("link", name="letter-to-imke").click()
    wrong = page.get_by_role("listitem").filter(has_text="Release 1 comes on 22 June")
    wrong.get_by_text("2 older notes").wait_for()
    wrong.get_by_role("link").click()
    page.get_by_role("status").filter(has_text="The model read an older version").wait_for()
    page.get_by_role("row").filter(has_text="stale").get_by_role("link", name=KICKOFF).click()
    block = page.get_by_role("complementary", name="The chosen block")
    block.get_by_text("**22 June**").wait_for()
    block.get_by_role("link", name=KICKOFF).click()
    page.get_by_role("heading", name=f"Why: {KICKOFF}").wait_for()
    traces = page.locator("table.traces tbody tr")
    changed = traces.filter(has_text="workspaced found other text")
    assert "older" not in changed.inner_text()
    assert "older" in traces.filter(has=page.get_by_role("link", name="167", exact=True)).inner_text()
    page.get_by_role("definition").filter(has_text="prompt 167").get_by_text("older").wait_for()


def test_a_message_s_moment_leads_to_its_conversation_where_its_words_stand(
    inspect: Inspect, open_page: OpenPage
) -> None:
    page = opened(open_page, inspect(MORNING), "#/at/169")
    page.get_by_role("link", name="conversation letter-to-imke").click()
    page.get_by_role("listitem").filter(has_text="Release 1 comes on 22 June").wait_for()


def found(page: "Page", expression: str) -> list[str]:
    """Finds and shrinks as a person does; the words of the few events."""
    page.get_by_role("combobox", name="Expression").fill(expression)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Take it with you").wait_for()
    words = page.locator(".story .step-words").all_inner_texts()
    return [each.split(" event ")[0] for each in words]


def value_there(page: "Page", expression: str) -> str:
    """What an expression gives at the moment that the search found."""
    page.get_by_role("link", name=re.compile("^event [0-9]+$")).and_(page.locator("h3 + p a")).click()
    page.locator("#moment-title").wait_for()
    settled(page)
    follow(page, "#/find")
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
    inspect: Inspect, open_page: OpenPage, tmp_path: Path
) -> None:
    first = opened(open_page, inspect(MORNING), "#/find")
    story = found(first, BUG)
    assert first.evaluate("decodeURIComponent(location.hash)") == f"#/find/{BUG}"
    first.locator("h3 + p").get_by_role("link", name="event 145").wait_for()
    assert 5 <= len(story) < 20
    bundle = saved(first, "Bundle (found.wsb)", tmp_path)
    test = saved(first, "Test (test_found.py)", tmp_path)
    value = value_there(first, WHAT_IT_SHOWS)
    assert value == f'["{KICKOFF}",4]'

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
    failing = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert failing.returncode == 1, failing.stdout + failing.stderr
    assert f"after event {len(story)}, " in failing.stdout and f"this is true: {BUG}" in failing.stdout

    second = opened(open_page, inspect(bundle), "#/find")
    assert found(second, BUG) == story
    second.locator(".story a").last.click()
    second.wait_for_url(f"**/#/at/{len(story)}")
    settled(second)
    assert second.locator(".active-note").inner_text().split()[0] == KICKOFF
    follow(second, "#/find")
    found(second, BUG)
    assert value_there(second, WHAT_IT_SHOWS) == value


def answered(page: "Page", seq: int) -> str:
    """The bytes that a call was answered, once it is replayed to the same."""
    page.locator("#view").get_by_role("link", name=str(seq), exact=True).click()
    page.get_by_text("replays: same").wait_for()
    page.get_by_role("button", name="as answered").click()
    return page.locator("pre.answer").inner_text()


def test_what_agents_saw_while_something_was_so_is_the_same_in_a_second_inspector(
    inspect: Inspect, open_page: OpenPage, tmp_path: Path
) -> None:
    first_inspector = inspect(MORNING)
    first = opened(open_page, first_inspector, "#/find")
    found(first, "contains(temporaryTabs[].noteId, 'projects/ferrybook/Booking flow.md')")
    calls = first.get_by_role("article", name="What agents saw")
    last = int(calls.get_by_role("link").last.inner_text())
    seq = max(call["seq"] for call in first_inspector.get("/api/calls")["calls"] if call["seq"] <= last)
    bundle = saved(first, "Bundle (found-with-calls.wsb)", tmp_path)
    follow(first, "#/call")
    answer = answered(first, seq)

    second = opened(open_page, inspect(bundle), "#/call")
    assert answered(second, seq) == answer


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
    first = opened(open_page, first_inspector, "#/call")
    answer = answered(first, call["seq"])
    assert "Blau" in answer and said
    (line,) = first.locator(".command code").filter(has_text="workspaced bundle").all_inner_texts()
    made = process.run(*shlex.split(line)[1:], cwd=tmp_path, env=running.env)
    assert made.returncode == 0, made.stderr

    second = opened(open_page, inspect(tmp_path / f"call-{call['seq']}.wsb"), "#/call")
    assert answered(second, call["seq"]) == answer
    assert second.locator(".command", has_text="workspaced bundle").count() == 0
