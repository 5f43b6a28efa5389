"""Looking for an event by an expression over the state, and for a text that agents were shown."""

from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import InspectorPage, OpenPage, given_by_command

pytestmark = pytest.mark.thorough


def finding(open_page: OpenPage, inspector: Inspector) -> InspectorPage:
    opened = open_page(inspector.url)
    opened.page.get_by_role("navigation", name="Views").wait_for()
    opened.page.keyboard.press("f")
    opened.page.get_by_text("For example").wait_for()
    return opened


def test_an_expression_is_completed_by_keyboard(open_page: OpenPage, recorded: Inspector) -> None:
    opened = finding(open_page, recorded)
    page = opened.page
    field = page.get_by_role("combobox", name="Expression")
    field.press_sequentially("pinnedNotes[?i")
    page.get_by_role("option", name="id a text").wait_for()
    assert opened.accessibility_violations() == []
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


def test_the_first_prompt_with_a_sentence_is_two_steps_away(
    open_page: OpenPage, morning: Inspector, tmp_path: Path
) -> None:
    opened = open_page(morning.url)
    page = opened.page
    page.get_by_role("navigation", name="Views").wait_for()
    page.keyboard.press("s")
    page.get_by_role("searchbox", name="Text").fill("22 June")
    page.keyboard.press("Enter")
    page.locator("#view [role=status][aria-busy=false]").wait_for()
    assert opened.accessibility_violations() == []
    page.get_by_role("combobox", name="in").select_option("prompts")
    page.wait_for_url("**/prompts")
    assert given_by_command(page, tmp_path).startswith("81 prompt_assembled ")
    page.get_by_role("listitem").filter(has_text="22 June").get_by_role("link", name="Prompt 81").click()
    page.get_by_role("heading", name="Prompt 81").wait_for()
    page.go_back()
    page.locator("mark").first.wait_for()
    assert page.get_by_role("combobox", name="in").input_value() == "prompts"
    assert page.get_by_role("searchbox", name="Text").input_value() == "22 June"
