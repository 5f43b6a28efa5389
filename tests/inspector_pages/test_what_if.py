"""What if, as somebody leaves an event out, adds a pin, and asks a tool in that world."""

import re
from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, OpenPage, given_by_command

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(("size", "is_dark"), [(WIDE, False), (NARROW, True)], ids=["wide", "narrow"])
def test_an_event_is_left_out_and_the_difference_shown(
    open_page: OpenPage, recorded: Inspector, tmp_path: Path, size: tuple[int, int], is_dark: bool
) -> None:
    opened = open_page(recorded.url, size, is_dark=is_dark)
    page = opened.page
    events = recorded.get("/api/newest", limit=500)["events"]
    world, shown = next(
        (world, each)
        for each in events
        if each["lane"] == "navigation"
        and (world := recorded.post("/api/what-if", at=str(each["seq"]), without=[each["seq"]]))["lines"]
    )
    page.get_by_role("link", name="What if").click()
    page.get_by_label("Moment: a sequence or a time").fill(str(shown["seq"]))
    page.keyboard.press("Enter")
    page.get_by_role("checkbox", name=re.compile(f"^{shown['seq']} ")).check()
    outcome = page.get_by_role("region", name="The hypothetical workspace")
    outcome.get_by_text(world["lines"][0], exact=True).wait_for()
    assert f"\n  {world['lines'][0]}\n" in given_by_command(page, tmp_path)
    opened.picture("what-if")
    assert opened.accessibility_violations() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_tool_answers_something_else_with_a_pin_more(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).page
    page.keyboard.press("i")
    page.get_by_label("Note's path").fill("never/pinned.md")
    page.get_by_role("button", name="Add").click()
    outcome = page.get_by_role("region", name="The hypothetical workspace")
    outcome.get_by_text("pinned + never/pinned.md").wait_for()
    page.get_by_label("Tool").fill("get_workspace_context")
    page.get_by_role("button", name="Ask in both worlds").click()
    outcome.get_by_text("something else").wait_for()
    page.get_by_role("button", name="Drop action 1").click()
    outcome.get_by_text("the same").wait_for()


def test_an_action_that_makes_no_sense_says_what_is_wrong(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).page
    page.keyboard.press("i")
    page.get_by_label("An editor").select_option("json")
    page.get_by_role("textbox", name="Action as JSON").fill("{nonsense")
    page.get_by_role("button", name="Add").click()
    page.get_by_text("That is no JSON").wait_for()
