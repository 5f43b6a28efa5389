"""What the page says of a log before somebody believes or shares what it shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.daemon import clean_environment
from support.inspector import Inspector
from support.inspector_page import NARROW, OpenPage
from support.random_log import random_log
from support.stored_logs import as_directory, as_export

pytestmark = pytest.mark.thorough


def test_a_damaged_log_says_what_is_damaged_and_what_repairs_it(open_page: OpenPage, tmp_path: Path) -> None:
    place = as_directory(tmp_path / "data", random_log(1, 90))
    segment = sorted((place / "log").glob("*.wlog"))[1]
    segment.write_bytes(segment.read_bytes().replace(b"active_note", b"active_NOTE", 1))
    with Inspector(place, env=clean_environment(tmp_path)) as inspector:
        opened = open_page(inspector.url, NARROW)
        alert = opened.page.get_by_role("alert")
        alert.get_by_text(f"log/{segment.name} is damaged at offset").wait_for()
        alert.get_by_text("workspaced log salvage").wait_for()
        opened.page.locator("main#view:not(:has([aria-busy=true]))").wait_for()
        opened.picture("damaged")
        assert opened.accessibility_violations() == []


def test_an_empty_log_says_how_to_see_another(open_page: OpenPage, tmp_path: Path) -> None:
    with Inspector(as_export(tmp_path / "empty.jsonl", []), env=clean_environment(tmp_path)) as inspector:
        opened = open_page(inspector.url)
        opened.page.get_by_role("heading", name="This log holds no events yet").wait_for()
        opened.page.get_by_text("workspaced demo").wait_for()
        opened.picture("empty")
        assert opened.accessibility_violations() == []


def test_whoever_waits_for_a_fold_sees_how_far_it_is(open_page: OpenPage, recorded: Inspector) -> None:
    answer = '{"folded": 250, "events": 1000}'
    opened = open_page("about:blank")
    held: list[Any] = []
    opened.page.route("**/api/state*", lambda route: held.append(route))
    opened.page.route("**/api/folding", lambda route: route.fulfill(body=answer, content_type="application/json"))
    opened.open(f"{recorded.url}&at=80")
    opened.page.get_by_role("progressbar", name="Events folded").first.wait_for()
    opened.page.get_by_text("folded 250 of 1,000 events").first.wait_for()
    opened.page.unroute("**/api/folding")
    for route in held:
        route.continue_()
    opened.page.unroute("**/api/state*")
    opened.page.get_by_role("heading", name="Active note").wait_for()


def test_a_log_without_findings_shows_the_present_moment(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, daemon: Any
) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    running.connect("editor").publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    assert running.stop() == 0
    page = open_page(inspect(running.data).url).page
    page.get_by_text("Nothing was found. This is the present moment:").wait_for()
    page.get_by_role("heading", name="Active note").wait_for()
