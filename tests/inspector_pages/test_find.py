"""Find and shrink as a person does it: write an expression, find the event, take the few events along."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, InspectorPage, OpenPage

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")
THREE_PINS = "length(pinnedNotes) > `2`"

pytestmark = pytest.mark.thorough


def finding(open_page: OpenPage, inspector: Inspector, **options: object) -> InspectorPage:
    opened = open_page(inspector.url, **options)
    opened.page.get_by_role("navigation", name="Views").wait_for()
    opened.page.keyboard.press("f")
    opened.page.get_by_text("For example").wait_for()
    return opened


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_search_is_for_everybody(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, size: tuple[int, int], is_dark: bool
) -> None:
    opened = finding(open_page, inspect(MORNING), size=size, is_dark=is_dark)
    page = opened.page
    assert opened.accessibility_violations() == []
    page.get_by_role("combobox", name="Expression").fill("contains(pinnedNotes[].id, ")
    page.get_by_role("listbox", name="Completions").get_by_role("option").first.wait_for()
    opened.picture("find-completions")
    assert opened.accessibility_violations() == []
    page.get_by_role("combobox", name="Expression").fill(THREE_PINS)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Take it with you").wait_for()
    opened.picture("find")
    assert opened.accessibility_violations() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_expression_is_completed_by_keyboard(open_page: OpenPage, recorded: Inspector) -> None:
    page = finding(open_page, recorded).page
    field = page.get_by_role("combobox", name="Expression")
    field.press_sequentially("pinnedNotes[?i")
    page.get_by_role("option", name="id a text").wait_for()
    field.press("ArrowDown")
    field.press("Enter")
    assert field.input_value() == "pinnedNotes[?id"
    field.press_sequentially(" == ")
    page.get_by_role("option", name="'a.md'").wait_for()
    field.press("ArrowDown")
    field.press("Tab")
    field.press_sequentially("]")
    assert field.input_value() == "pinnedNotes[?id == 'a.md']"
    page.get_by_text("true", exact=True).wait_for()
    page.get_by_text("after event 80: its value is").wait_for()


def test_an_error_is_shown_at_its_place(open_page: OpenPage, recorded: Inspector) -> None:
    opened = finding(open_page, recorded)
    page = opened.page
    page.get_by_role("combobox", name="Expression").fill("seq && pinned")
    page.get_by_text("at character 8").wait_for()
    assert page.locator("pre.place").inner_text() == "seq && pinned\n       ^"
    page.get_by_role("button", name="Find", exact=True).click()
    page.get_by_role("alert").get_by_text("which no state has").wait_for()
    # Chromium tells of each answer that is an error.
    assert [each for each in opened.problems() if "status of 400" not in each] == []


def test_what_is_never_true_is_said(open_page: OpenPage, recorded: Inspector) -> None:
    page = finding(open_page, recorded).page
    page.get_by_role("combobox", name="Expression").fill("length(pinnedNotes) > `99`")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Find", exact=True).click()
    page.get_by_role("alert").get_by_text("It is true after none of the 80 events").wait_for()
