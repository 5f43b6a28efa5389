"""Agents, as somebody reads what they may see."""

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
    page.get_by_text("No command line gives the same.").wait_for()  # nobody writes to this log
