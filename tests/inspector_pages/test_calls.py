"""The page's calls as a person goes through them: list, one call, two calls side by side."""

from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, OpenPage

pytestmark = pytest.mark.thorough


def test_a_call_is_found_opened_and_read_by_keyboard(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("at")
    page.keyboard.press("c")
    page.get_by_role("link", name="75", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="get_context_manifest, event 74").wait_for()
    page.get_by_text("replays: same").wait_for()
    page.get_by_text("Nothing, it was refused").wait_for()
    page.go_back()
    page.get_by_role("link", name="31", exact=True).press("Enter")
    question = page.get_by_text("b.md, a.md")
    question.focus()
    page.keyboard.press("Enter")
    page.get_by_text("b.md 79 B").press("Enter")
    page.get_by_text("The [second](a.md) note. zebra #two").last.wait_for()


def test_two_marked_calls_stand_side_by_side(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("call")
    page.get_by_role("link", name="46", exact=True).focus()
    page.keyboard.press("x")
    page.get_by_text("mark another one").wait_for()
    page.get_by_label("Mark call 31 to compare").check()
    page.get_by_role("link", name="Compare call 31 with call 46").click()
    page.get_by_text('client: "agent" -> "names"').wait_for()
    table = page.get_by_role("table")
    assert table.get_by_role("columnheader").all_inner_texts() == ["call 31", "call 46"]
    assert '-       "metadata": {' in table.locator("td.removed").all_inner_texts()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.locator("pre.diff .removed").first.wait_for()


def test_an_answer_is_copied_and_saved_to_the_byte(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("call/31")
    page.get_by_role("button", name="as answered").click()
    exact = recorded.request("GET", "/api/calls/31/answer").content
    assert page.locator("pre.answer").inner_text() == exact.decode()
    with page.expect_download() as download:
        page.get_by_role("button", name="save the answer").click()
    assert download.value.suggested_filename == "call-31.json"
    assert Path(download.value.path()).read_bytes() == exact


def test_filters_stand_in_the_link(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("call")
    page.get_by_role("link", name="names").first.click()
    page.get_by_role("checkbox", name="only failed").check()
    page.get_by_text("4 calls, the latest first").wait_for()
    assert page.url.endswith("#/call/by/names/failed")
    page.get_by_text("workspaced calls list").filter(has_text="--client names --failed").wait_for()
    page.get_by_role("link", name="all calls").click()
    page.get_by_text("45 calls, the latest first").wait_for()
