"""Agents, as somebody reads what they may see, and takes it away from one."""

from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import OpenPage

pytestmark = pytest.mark.thorough


def test_each_agent_with_what_it_asked(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("agents")
    first = recorded.get("/api/agents")["agents"][0]
    card = page.get_by_role("article", name=first["client"])
    card.wait_for()
    assert f"{first['asked']['calls']} calls" in card.inner_text()
    latest = first["asked"]["latest"][0]["seq"]
    assert card.get_by_role("link", name=str(latest), exact=True).get_attribute("href") == f"#/call/{latest}"
    assert card.get_by_role("combobox").count() == 0
    page.get_by_text("No command line gives the same.").wait_for()  # nobody writes to this log


def test_a_level_is_taken_away_and_a_pause_begun_from_the_page(open_page: OpenPage, daemon: Any) -> None:
    running = daemon()
    with running.connect("claude") as claude:
        claude.tool("get_workspace_context")
        with Inspector("--socket", running.socket, "--allow-changes", env=running.env) as inspector:
            opened = open_page(inspector.url)
            page = opened.page
            page.get_by_text("live: the daemon tells what happens").wait_for()
            page.keyboard.press("a")
            page.get_by_label("How much claude is shown").select_option("none")
            page.get_by_role("cell", name="inspector set what claude is shown to “none”").wait_for()
            assert claude.tool("get_workspace_context")["code"] == "SHARING_OFF"
            page.get_by_role("button", name="Pause for 30 minutes").click()
            page.get_by_text("by inspector").wait_for()
            opened.picture("agents-paused")
            assert opened.accessibility_violations() == []
            page.get_by_role("button", name="Resume").click()
            page.get_by_text("Agents are answered and told").wait_for()
            page.close()  # before what it talks with ends
