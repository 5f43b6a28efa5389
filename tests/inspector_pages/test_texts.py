"""A text is looked for over the whole log, and found where agents were shown it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, InspectorPage, OpenPage, given_by_command

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")

pytestmark = pytest.mark.thorough


def searching(open_page: OpenPage, inspector: Inspector, text: str, **options: object) -> InspectorPage:
    opened = open_page(inspector.url, **options)
    page = opened.page
    page.get_by_role("navigation", name="Views").wait_for()
    page.keyboard.press("s")
    page.get_by_role("searchbox", name="Text").fill(text)
    page.keyboard.press("Enter")
    page.locator("#view [role=status][aria-busy=false]").wait_for()
    return opened


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_search_for_a_text_is_for_everybody(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, size: tuple[int, int], is_dark: bool
) -> None:
    opened = searching(open_page, inspect(MORNING), "22 June", size=size, is_dark=is_dark)
    opened.picture("texts")
    assert opened.accessibility_violations() == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_first_prompt_with_a_sentence_is_two_steps_away(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, tmp_path: Path
) -> None:
    page = searching(open_page, inspect(MORNING), "22 June").page
    page.get_by_role("combobox", name="in").select_option("prompts")
    page.wait_for_url("**/prompts")
    assert given_by_command(page, tmp_path).startswith("81 prompt_assembled ")
    page.get_by_role("listitem").filter(has_text="22 June").get_by_role("link", name="Prompt 81").click()
    page.get_by_role("heading", name="Prompt 81").wait_for()
    page.go_back()
    page.locator("mark").first.wait_for()
    assert page.get_by_role("combobox", name="in").input_value() == "prompts"
    assert page.get_by_role("searchbox", name="Text").input_value() == "22 June"


def test_a_text_that_stands_nowhere_is_said_to(recorded: Inspector, open_page: OpenPage) -> None:
    page = searching(open_page, recorded, "<b>nowhere</b> at all").page
    page.get_by_text("“<b>nowhere</b> at all” stands nowhere here").wait_for()
