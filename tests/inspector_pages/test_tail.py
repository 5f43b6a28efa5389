"""The tail: what happens now, as somebody watches it, stops it, and looks for one thing in it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, OpenPage

pytestmark = pytest.mark.thorough


@pytest.fixture
def live(shared: Any) -> Iterator[Inspector]:
    with Inspector("--socket", shared.socket, env=shared.env) as running:
        yield running


def look_at(client: Any, note: str, source: str = "editor") -> int:
    (receipt,) = client.publish([{"type": "active_note_set", "data": {"note": note}}], source=source)
    return int(receipt["seq"])


def test_what_happens_appears_by_itself_and_leads_to_its_moment(
    live: Inspector, open_page: OpenPage, client: Any
) -> None:
    opened = open_page(live.url)
    page = opened.page
    page.get_by_text("live: the daemon tells what happens").wait_for()
    page.keyboard.press("t")
    page.get_by_role("heading", name="Live tail").wait_for()
    seq = look_at(client, "a.md")
    page.get_by_role("cell", name="editor opened a.md").first.wait_for()
    opened.picture("tail")
    assert opened.accessibility_violations() == []
    page.get_by_role("link", name=str(seq), exact=True).click()
    page.locator("#moment-title").wait_for()
    assert page.url.endswith(f"#/at/{seq}")


def test_a_paused_list_stays_and_counts_what_came(live: Inspector, open_page: OpenPage, client: Any) -> None:
    page = open_page(f"{live.url}").page
    page.keyboard.press("t")
    look_at(client, "b.md")
    page.get_by_role("cell", name="editor opened b.md").first.wait_for()
    page.get_by_role("button", name="Pause").click()
    look_at(client, "work/plan.md", source="paused-away")
    page.get_by_text(re.compile("[1-9]+ events? came since the pause")).wait_for()
    assert page.get_by_role("cell", name="paused-away opened work/plan.md").count() == 0
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("cell", name="paused-away opened work/plan.md").wait_for()


def test_a_filter_leaves_one_editor_s_events_and_gives_the_command_line(
    live: Inspector, open_page: OpenPage, client: Any
) -> None:
    look_at(client, "a.md", source="vim")
    look_at(client, "b.md", source="emacs")
    opened = open_page(live.url, NARROW, is_dark=True)
    page = opened.page
    page.keyboard.press("t")
    page.get_by_role("cell", name="emacs opened b.md").first.wait_for()
    page.get_by_label("Editor or program").fill("vim")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name="emacs opened b.md").first.wait_for(state="hidden")
    page.get_by_role("cell", name="vim opened a.md").first.wait_for()
    assert """jq -c 'select(.source == "vim")'""" in page.locator(".command code").inner_text()
    opened.picture("tail-filtered")
    assert opened.accessibility_violations() == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_long_list_draws_only_the_rows_in_sight_and_keeps_those_that_are_read(
    live: Inspector, open_page: OpenPage, client: Any, size: tuple[int, int]
) -> None:
    seqs = [seq for _ in range(8) for seq in look_at_all(client, 100)]
    page = open_page(live.url, size).page
    page.evaluate("location.hash = '#/tail'")
    page.get_by_role("button", name="Look before event").click()
    rows = page.locator("main [data-row]")
    box = page.get_by_role("region", name="Newest events")
    page.wait_for_function("() => document.querySelector('.event-table')?.getAttribute('aria-rowcount') > 600")
    box.evaluate("box => { box.scrollTop = 300 * document.querySelector('[data-row]').offsetHeight }")
    read = box.get_by_role("link", name=str(seqs[-1] - 305), exact=True)
    read.wait_for()
    assert rows.count() < 60
    place = read.bounding_box()
    look_at_all(client, 7)
    page.wait_for_function("rows => document.querySelector('.event-table').ariaRowCount > rows", arg=607)
    assert read.bounding_box() == place
    read.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == str(seqs[-1] - 306)
    page.get_by_role("button", name=f"JSON of event {seqs[-1] - 306}").click()
    page.get_by_role("region", name=f"Event {seqs[-1] - 306} as JSON").get_by_text('"active_note_set"').wait_for()


def look_at_all(client: Any, times: int) -> list[int]:
    """Looks at two notes in turn; the sequences."""
    actions = [{"type": "active_note_set", "data": {"note": f"{'ab'[at % 2]}.md"}} for at in range(times)]
    return [int(receipt["seq"]) for receipt in client.publish(actions, source="editor")]


def test_a_second_tab_follows_through_the_first(live: Inspector, open_page: OpenPage, client: Any) -> None:
    first = open_page(live.url).page
    first.get_by_text("live: the daemon tells what happens").wait_for()
    second = first.context.new_page()
    second.goto(live.url)
    second.get_by_text("live: the daemon tells what happens").wait_for()
    first.close()
    second.keyboard.press("t")
    look_at(client, "c.md", source="after-the-first")
    second.get_by_role("cell", name="after-the-first opened c.md").wait_for()


def test_a_daemon_that_is_gone_is_said_to_be(open_page: OpenPage, daemon: Any) -> None:
    running = daemon()
    with Inspector("--socket", running.socket, env=running.env) as inspector:
        page = open_page(inspector.url).page
        page.get_by_text("live: the daemon tells what happens").wait_for()
        running.stop()
        page.get_by_text("goes on when it is back").wait_for()
        running.start()
        page.get_by_text("live: the daemon tells what happens").wait_for()
        page.close()  # before what it talks with ends


def test_names_of_notes_are_text_and_nothing_else(shared: Any, open_page: OpenPage, client: Any) -> None:
    with Inspector("--socket", shared.socket, env=shared.env) as inspector:
        page = open_page(inspector.url).page
        page.keyboard.press("t")
        look_at(client, "<script>alert(1)<\u2215script><img src=x onerror=alert(2)> \u05e9\u05dc.md")
        page.get_by_role("cell", name="<script>alert(1)").first.wait_for()
        assert page.locator("main img, main script").count() == 0
        page.close()  # before what it talks with ends
