"""The inspector's page as anybody sees it first: without an error, for everybody, in any size and colours."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, OpenPage
from support.static_pages import CSP

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_page_opens_without_a_problem_and_for_everybody(
    open_page: OpenPage, recorded: Inspector, size: tuple[int, int], is_dark: bool
) -> None:
    opened = open_page(recorded.url, size, is_dark=is_dark)
    opened.page.get_by_role("region", name="Timeline").wait_for()
    opened.page.locator("main#view:not(:has([aria-busy=true]))").wait_for()
    opened.picture("first-sight")
    assert opened.accessibility_violations() == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_token_leaves_the_address(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).page
    page.get_by_role("region", name="Timeline").wait_for()
    assert recorded.token not in page.url


def test_a_tab_without_a_token_says_how_to_get_one(open_page: OpenPage, recorded: Inspector) -> None:
    opened = open_page(f"http://127.0.0.1:{recorded.port}/#/at/1")
    opened.page.get_by_text("This tab has no token yet").wait_for()
    assert opened.accessibility_violations() == []


def test_a_question_mark_tells_the_keys_and_they_rest_meanwhile(open_page: OpenPage, recorded: Inspector) -> None:
    opened = open_page(recorded.url)
    page = opened.page
    page.get_by_role("navigation", name="Views").wait_for()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    keys.get_by_text("the event before, the next one").wait_for()
    opened.picture("keys")
    assert opened.accessibility_violations() == []
    page.keyboard.press("c")
    assert page.get_by_role("heading", name="Calls").count() == 0
    page.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    page.keyboard.press("c")
    page.get_by_role("heading", name="Calls", exact=True).wait_for()


def test_the_tab_of_the_view_is_in_sight_on_a_small_screen(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url, NARROW).page
    page.get_by_role("navigation", name="Views").wait_for()
    page.evaluate("location.hash = '#/tail'")
    page.get_by_role("heading", name="Newest events").wait_for()
    box = page.get_by_role("link", name="Tail").bounding_box()
    assert box is not None and 0 <= box["x"] <= NARROW[0] - box["width"]


def test_tests_of_libraries_run_under_the_policy_of_the_page(recorded: Inspector) -> None:
    assert recorded.request("GET", "/").headers["content-security-policy"] == CSP


def test_the_timeline_takes_a_quarter_of_a_small_screen_and_folds(
    inspect: Callable[..., Inspector], open_page: OpenPage
) -> None:
    page = open_page(inspect(MORNING).url).page
    timeline = page.get_by_role("region", name="Timeline")
    page.get_by_text("failed calls").wait_for()
    height = "each => each.getBoundingClientRect().height"
    assert timeline.evaluate(height) <= 800 / 4
    fold = timeline.get_by_role("button", name="timeline")
    fold.click()
    assert fold.get_attribute("aria-expanded") == "false"
    assert timeline.evaluate(height) <= 50
    fold.click()
    page.get_by_text("failed calls").wait_for()


def test_the_mark_moves_to_what_is_read(inspect: Callable[..., Inspector], open_page: OpenPage) -> None:
    page = open_page(inspect(MORNING).url).page
    for link, seq in (("call 155", 155), ("prompt 167", 167)):
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Findings").click()
        page.get_by_role("main").get_by_role("link", name=link, exact=True).first.click()
        page.locator(f"[role=slider][aria-valuenow='{seq}']").wait_for()


def test_a_term_has_its_sentence_under_the_pointer_and_with_the_focus(
    inspect: Callable[..., Inspector], open_page: OpenPage
) -> None:
    page = open_page(inspect(MORNING).url, NARROW).page
    page.get_by_role("link", name="call 155").wait_for()  # nothing moves any more
    term = page.get_by_role("main").locator("dfn", has_text="withheld")
    meaning = page.get_by_role("tooltip").filter(visible=True)
    for show in (term.hover, term.focus):
        show()
        meaning.filter(has_text="Hidden from every agent by a glob or by the note's own front matter.").wait_for()
        box = meaning.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= NARROW[0]
        page.mouse.move(0, 0)
        term.blur()


def test_the_keys_open_at_their_top(inspect: Callable[..., Inspector], open_page: OpenPage) -> None:
    page = open_page(inspect(MORNING).url, (1280, 400)).page
    page.get_by_role("button", name="Keys").click()
    dialog = page.get_by_role("dialog", name="Keys")
    dialog.get_by_role("heading", name="Keys").wait_for()
    assert dialog.evaluate("each => each.scrollTop") == 0
