"""The timeline and the moment as a person uses them: look, step, jump, drag, zoom, filter."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support import random_log
from support.daemon import clean_environment
from support.inspector import Inspector
from support.inspector_page import InspectorPage, OpenPage

from workspaced_events.replay.json_lines import export_lines
from workspaced_events.schema import catalogue as c

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over 5,000 events, two a second."""
    home = tmp_path_factory.mktemp("long")
    looks = [c.ActiveNoteSet(random_log.NOTES[at % 3]) for at in range(4_999)]
    log = home / "log.jsonl"
    log.write_bytes(b"".join(export_lines("log", random_log.recorded(*random_log.opened(random_log.V), *looks))))
    with Inspector(log, env=clean_environment(home)) as running:
        yield running


def at(opened: InspectorPage, seq: int) -> None:
    """Waits until the page shows the moment after that event."""
    opened.page.get_by_role("heading", name=re.compile(rf"^Event {seq:,}\b")).wait_for()
    opened.page.get_by_role("slider", name="Moment").and_(
        opened.page.locator(f"[aria-valuenow='{seq}']")
    ).wait_for()


def go(opened: InspectorPage, seq: int) -> None:
    """Follows a link to a moment."""
    opened.page.evaluate("place => { location.hash = `#/at/${place}` }", str(seq))
    at(opened, seq)


def rows_of(opened: InspectorPage) -> "Locator":
    """The events of the list that are in sight, or nearly."""
    return opened.page.get_by_role("listbox").get_by_role("option")


def present(opened: InspectorPage) -> "Locator":
    """The row of the moment that is looked at."""
    return opened.page.get_by_role("listbox").get_by_role("option", selected=True)


def test_keys_step_through_events_and_stop_at_the_ends(open_page: OpenPage, recorded: Inspector) -> None:
    opened = open_page(recorded.url)
    go(opened, 80)
    at(opened, 80)
    keys = opened.page.keyboard
    for key, seq in (
        ("ArrowLeft", 79), ("Shift+ArrowLeft", 69), ("ArrowRight", 70), ("Home", 1), ("ArrowLeft", 1),
        ("Shift+ArrowRight", 11), ("End", 80), ("ArrowRight", 80),
    ):  # fmt: skip
        keys.press(key)
        at(opened, seq)


def test_a_recorded_call_is_shown_itself_with_a_link_to_what_it_answered(
    open_page: OpenPage, recorded: Inspector
) -> None:
    opened = open_page(recorded.url)
    go(opened, 34)
    told = opened.page.locator(".told")
    assert "agent called get_note_by_reference(reference=“private”), which failed" in told.inner_text()
    assert "Nothing in the workspace: a call only reads." in told.inner_text()
    assert told.get_by_role("link", name="call 34").get_attribute("href") == "#/call/34"


def test_a_jump_takes_a_sequence_or_a_local_time_and_says_what_is_wrong(
    open_page: OpenPage, long: Inspector
) -> None:
    opened = open_page(long.url)
    go(opened, 5000)
    field = opened.page.get_by_label("Go to")
    field.fill("2026-03-01 00:10:00")
    field.press("Enter")
    at(opened, 1200)
    field.fill("00:20:00.5")
    field.press("Enter")
    at(opened, 2401)
    with opened.page.expect_response("**/api/state?at=5001") as refused:
        field.fill("5001")
        field.press("Enter")
    assert refused.value.status == 400
    opened.page.get_by_role("alert").get_by_text("Expected a sequence from 0 to 5000").wait_for()
    at(opened, 2401)
    assert [each for each in opened.problems() if "400" not in each] == []


def test_the_scrubber_is_dragged_and_the_link_follows_when_it_rests(open_page: OpenPage, long: Inspector) -> None:
    opened = open_page(long.url)
    go(opened, 5000)
    page = opened.page
    thumb = page.locator(".scrubber-thumb").bounding_box()
    bars = page.locator(".lane-bars").bounding_box()
    assert thumb is not None and bars is not None
    y = thumb["y"] + thumb["height"] / 2
    page.mouse.move(thumb["x"] + thumb["width"] / 2, y)
    page.mouse.down()
    for part in range(95, 49, -5):
        page.mouse.move(bars["x"] + bars["width"] * part / 100, y)
    page.locator(".scrubber-thumb:is([aria-valuenow^='24'], [aria-valuenow^='25'])").wait_for()
    page.mouse.up()
    page.wait_for_url(re.compile(r"#/at/2[45]\d\d$"))
    at(opened, int(page.url.rpartition("/")[2]))
    present(opened).wait_for()


def test_a_click_goes_to_a_moment_and_a_brush_zooms(open_page: OpenPage, long: Inspector) -> None:
    opened = open_page(long.url)
    go(opened, 5000)
    page = opened.page
    bars = page.locator(".u-over").bounding_box()
    assert bars is not None
    middle = bars["y"] + 20
    with page.expect_response("**/api/timeline?begin*") as zoomed:
        page.mouse.move(bars["x"] + bars["width"] * 0.2, middle)
        page.mouse.down()
        page.mouse.move(bars["x"] + bars["width"] * 0.4, middle, steps=5)
        page.mouse.up()
    counts = zoomed.value.json()["lanes"][0]
    assert counts["lane"] == "navigation" and abs(counts["total"] - 1000) < 30
    page.mouse.click(bars["x"] + bars["width"] / 2, middle)
    page.wait_for_url(re.compile(r"#/at/.+"))
    page.locator(".scrubber-thumb:is([aria-valuenow^='14'], [aria-valuenow^='15'])").wait_for()
    page.get_by_role("button", name="all", exact=True).click()
    page.get_by_role("button", name="Zoom out").and_(page.locator(":disabled")).wait_for()


def test_the_list_is_filtered_and_follows_the_moment(open_page: OpenPage, recorded: Inspector) -> None:
    opened = open_page(recorded.url)
    go(opened, 40)
    page = opened.page
    page.get_by_role("button", name="sharing", exact=True).click()
    page.get_by_text("All 6 that pass.").wait_for()
    assert rows_of(opened).count() == 6
    for seq in (20, 19):
        page.get_by_role("listbox").press("ArrowUp")
        at(opened, seq)
    page.get_by_role("button", name="sharing", exact=True).click()
    page.get_by_label("note").fill("OLD")
    rows_of(opened).get_by_text("renamed old.md to b.md").click()
    at(opened, 17)
    page.get_by_label("by").fill("no such editor")
    page.get_by_text("No event passes the filter.").wait_for()


def test_a_long_list_draws_only_what_is_in_sight_and_loads_as_it_is_scrolled(
    open_page: OpenPage, long: Inspector
) -> None:
    opened = open_page(long.url)
    go(opened, 2500)
    page = opened.page
    rows = rows_of(opened)
    present(opened).wait_for()
    assert rows.count() < 60
    for end in (2700, 2800, 2900):
        page.locator(".event-rows").evaluate("list => { list.scrollTop = list.scrollHeight }")
        at_least = "|".join(str(each) for each in range(end, 5000, 100))
        page.get_by_text(re.compile(f"to ({at_least}); scroll for more")).wait_for()
    assert rows.count() < 60
    page.keyboard.press("Home")
    at(opened, 1)
    rows.filter(has_text="opened the vault").wait_for()
