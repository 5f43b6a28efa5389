"""The inspector's page as anybody sees it first: without an error, for everybody, in any size and colours."""

from urllib.parse import quote

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, OpenPage

VIEWS = {
    "findings": "findings",
    "moment": "at/40",
    "moment-of-a-call": "at/116",
    "calls": "call",
    "call": "call/116",
    "told": "call/191",
    "prompts": "prompt",
    "prompts-conversation": "prompt/of/letter-to-imke",
    "prompts-block": "prompt/110/layer/L4/block/1",
    "prompts-body": "prompt/110/body",
    "prompts-changes": "prompt/110/diff",
    "agents": "agents",
    "why": f"note/{quote('projects/ferrybook/Kickoff.md', safe='')}",
}

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(("size", "is_dark"), [(WIDE, False), (NARROW, True)], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", VIEWS)
def test_each_view_is_for_everybody(
    open_page: OpenPage, morning: Inspector, name: str, size: tuple[int, int], is_dark: bool
) -> None:
    opened = open_page(morning.url, size, is_dark=is_dark)
    opened.show(VIEWS[name])
    opened.picture(name)
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


def test_the_timeline_takes_a_quarter_of_a_small_screen_and_folds(open_page: OpenPage, morning: Inspector) -> None:
    page = open_page(morning.url).page
    timeline = page.get_by_role("region", name="Timeline")
    timeline.locator(".lane-name").first.wait_for()
    height = "each => each.getBoundingClientRect().height"
    assert timeline.evaluate(height) <= 800 / 4
    fold = timeline.get_by_role("button", name="timeline")
    fold.click()
    assert fold.get_attribute("aria-expanded") == "false"
    assert timeline.evaluate(height) <= 50
    fold.click()
    timeline.locator(".lane-name").first.wait_for()


def test_the_mark_moves_to_what_is_read(open_page: OpenPage, morning: Inspector) -> None:
    page = open_page(morning.url).page
    for link, seq in (("call 155", 155), ("prompt 167", 167)):
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Findings").click()
        page.get_by_role("main").get_by_role("link", name=link, exact=True).first.click()
        page.locator(f"[role=slider][aria-valuenow='{seq}']").wait_for()


def test_a_term_has_its_sentence_under_the_pointer_and_with_the_focus(
    open_page: OpenPage, morning: Inspector
) -> None:
    page = open_page(morning.url, NARROW).page
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
