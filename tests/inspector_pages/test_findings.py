"""The first page of the inspector: findings, and where there are none, the present moment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, WIDE, OpenPage

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_findings_are_for_everybody(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, size: tuple[int, int], is_dark: bool
) -> None:
    opened = open_page(inspect(MORNING).url, size, is_dark=is_dark)
    opened.page.get_by_role("heading", name="A prompt read “22 June”").wait_for()
    opened.picture("findings")
    assert opened.accessibility_violations() == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_log_without_findings_shows_the_present_moment(
    inspect: Callable[[Path], Inspector], open_page: OpenPage, daemon: Any
) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    running.connect("editor").publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    assert running.stop() == 0
    page = open_page(inspect(running.data).url).page
    page.get_by_text("Nothing was found. This is the present moment:").wait_for()
    page.get_by_role("heading", name="Active note").wait_for()
