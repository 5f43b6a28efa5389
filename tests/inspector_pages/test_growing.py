"""A log that grows, as somebody watches it."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import OpenPage

pytestmark = pytest.mark.thorough


@pytest.fixture
def live(shared: Any) -> Iterator[Inspector]:
    with Inspector("--socket", shared.socket, env=shared.env) as running:
        yield running


def look_at(client: Any, note: str, source: str = "editor") -> int:
    (receipt,) = client.publish([{"type": "active_note_set", "data": {"note": note}}], source=source)
    return int(receipt["seq"])


def row(page: Any, words: str) -> Any:
    """An event's row in the list beside the moment."""
    return page.get_by_role("option").filter(has_text=words).first


def test_what_happens_appears_by_itself_and_a_second_tab_follows_through_the_first(
    live: Inspector, open_page: OpenPage, client: Any
) -> None:
    first = open_page(live.url).page
    first.get_by_text("live: the daemon tells what happens").wait_for()
    first.keyboard.press("m")
    seq = look_at(client, "a.md")
    row(first, "editor opened a.md").wait_for()
    first.locator("#moment-title").get_by_text(f"Event {seq:,}").wait_for()
    second = first.context.new_page()
    second.goto(live.url)
    second.get_by_text("live: the daemon tells what happens").wait_for()
    first.close()
    second.keyboard.press("m")
    look_at(client, "c.md", source="after-the-first")
    row(second, "after-the-first opened c.md").wait_for()
    look_at(client, "<script>alert(1)<\u2215script><img src=x onerror=alert(2)> \u05e9\u05dc.md")
    row(second, "<script>alert(1)").wait_for()
    assert second.locator("main img, main script").count() == 0, "names of notes are text and nothing else"


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
