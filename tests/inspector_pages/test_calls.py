"""The page's calls as a person goes through them: list, one call, two calls side by side."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, InspectorPage, OpenPage

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")

pytestmark = pytest.mark.thorough


def shown(open_page: OpenPage, inspector: Inspector, link: str, **options: object) -> InspectorPage:
    """The page at a link, once it shows what the link names."""
    opened = open_page(inspector.url, **options)
    opened.page.get_by_role("navigation", name="Views").wait_for()
    opened.page.evaluate("link => { location.hash = link; }", link)
    return opened


def settled(opened: InspectorPage) -> None:
    opened.page.locator("main#view:not(:has([aria-busy=true], .stale))").wait_for()


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    ("name", "link", "heading"),
    [
        ("calls", "#/call", "Calls"),
        ("call", "#/call/116", "get_workspace_context, event 116"),
        ("told", "#/call/191", "Told without asking, event 191"),
        ("two-calls", "#/call/117/with/150", "Call 117 and call 150"),
    ],
)
def test_calls_are_for_everybody(
    inspect: Callable[[Path], Inspector],
    open_page: OpenPage,
    name: str,
    link: str,
    heading: str,
    size: tuple[int, int],
    is_dark: bool,
) -> None:
    opened = shown(open_page, inspect(MORNING), link, size=size, is_dark=is_dark)
    opened.page.get_by_role("heading", name=heading, exact=True).wait_for()
    settled(opened)
    opened.picture(name)
    assert opened.accessibility_violations() == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_call_is_found_opened_and_read_by_keyboard(open_page: OpenPage, recorded: Inspector) -> None:
    page = shown(open_page, recorded, "#/at").page
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
    page = shown(open_page, recorded, "#/call").page
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
    page = shown(open_page, recorded, "#/call/31").page
    page.get_by_role("button", name="as answered").click()
    exact = recorded.request("GET", "/api/calls/31/answer").content
    assert page.locator("pre.answer").inner_text() == exact.decode()
    with page.expect_download() as download:
        page.get_by_role("button", name="save the answer").click()
    assert download.value.suggested_filename == "call-31.json"
    assert Path(download.value.path()).read_bytes() == exact


def test_filters_stand_in_the_link(open_page: OpenPage, recorded: Inspector) -> None:
    page = shown(open_page, recorded, "#/call").page
    page.get_by_role("link", name="names").first.click()
    page.get_by_role("checkbox", name="only failed").check()
    page.get_by_text("4 calls, the latest first").wait_for()
    assert page.url.endswith("#/call/by/names/failed")
    page.get_by_text("workspaced calls list").filter(has_text="--client names --failed").wait_for()
    page.get_by_role("link", name="all calls").click()
    page.get_by_text("45 calls, the latest first").wait_for()


def test_an_empty_list_says_why(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, recorded: Inspector, tmp_path: Path
) -> None:
    page = shown(open_page, recorded, "#/call/by/nobody-else").page
    page.get_by_text("No call fits").wait_for()
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"workspaced": "log", "version": 1}\n')
    opened = shown(open_page, inspect(empty), "#/call")
    opened.page.get_by_text("no agent has asked anything yet").wait_for()
    assert opened.accessibility_violations() == []
