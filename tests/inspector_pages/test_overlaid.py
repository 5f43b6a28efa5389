"""The page's view of a chat whose requests were overlaid, used as a person does."""

from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import WIDE, OpenPage
from support.overlaid_runtime import Runtime, looks_at

pytestmark = pytest.mark.thorough


def test_a_person_finds_what_stood_in_which_request(open_page: OpenPage, daemon: Any) -> None:
    running = daemon(notes={"a.md": "# A\n\nAlpha.\n", "b.md": "# B\n\nBeta.\n"})
    runtime = Runtime(running)
    for note, words in (("a.md", "One?"), ("b.md", "Two?")):
        looks_at(running, note)
        stood = runtime.asks(words)
    assert running.stop() == 0
    with Inspector(running.data, env=running.env) as inspector:
        opened = open_page(inspector.url, WIDE)
        page = opened.page
        page.get_by_role("region", name="Timeline").wait_for()
        page.evaluate("() => { location.hash = '#/prompt'; }")
        page.get_by_role("region", name="Overlaid chats").get_by_role("link").click()
        page.get_by_role("heading", name="What was put into the chat").wait_for()
        page.locator("main#view pre").first.wait_for()
        assert page.locator("main#view pre").all_inner_texts() == stood
        requests = page.locator("main#view ul li").all_inner_texts()
        assert len(requests) == 2 and all("the provider read" in each for each in requests)
        assert opened.accessibility_violations() == []
        page.get_by_role("link", name="b.md").wait_for()
        page.locator("main#view .prompt-head a").last.click()
        page.get_by_role("link", name="its chat").click()
        page.get_by_role("heading", name="What was put into the chat").wait_for()
