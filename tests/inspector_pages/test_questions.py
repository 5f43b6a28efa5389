"""Questions of somebody who sees the inspector for the first time, each answered by clicks from the first page."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.inspector import Inspector
from support.inspector_page import OpenPage

from workspaced.demo import morning

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MORNING = Path(morning.__file__).with_name("morning.wsb")
CLICKS_MAX = 3

pytestmark = pytest.mark.thorough


class Reader:
    """Clicks, counts the clicks, and reads."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.clicks = 0

    def tab(self, name: str) -> None:
        self._click(self.page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True))

    def link(self, name: str) -> None:
        self._click(self.page.get_by_role("main").get_by_role("link", name=name, exact=True).first)

    def row(self, text: str) -> None:
        self._click(self.page.get_by_role("row").filter(has_text=text).get_by_role("link").first)

    def _click(self, target: "Locator") -> None:
        self.clicks += 1
        target.click()

    def reads(self, *texts: str) -> None:
        for text in texts:
            self.page.get_by_role("main").get_by_text(text).first.wait_for()


def which_version_of_kickoff_did_the_prompt_at_10_59_hold(reader: Reader) -> None:
    reader.link("prompt 167")
    reader.link("projects/ferrybook/Kickoff.md")
    reader.reads("it stands in a prompt (stale, library)", "af5fa8a0")


def why_did_the_agent_not_see_the_daily_note(reader: Reader) -> None:
    reader.tab("Why")
    reader.link("daily/2026-04-17.md")
    reader.reads("workspaced found that agents may not see daily/2026-04-17.md")


def what_did_this_conversation_cost_and_why(reader: Reader) -> None:
    reader.tab("Prompts")
    reader.reads("What did we agree with Imke in February?", "0.0412 USD")
    reader.link("letter-to-imke")
    reader.reads("cache missed: folded: budget", "0.0070 USD")


def which_action_made_the_note_active_that_the_agent_read(reader: Reader) -> None:
    reader.tab("Calls")
    reader.row("maxContentLength=400")
    reader.link("event 179")
    reader.reads("obsidian opened reading/陰翳礼讃.md", "since 11:15:")


def was_the_answer_to_call_181_complete(reader: Reader) -> None:
    reader.tab("Calls")
    reader.row("maxContentLength=400")
    reader.reads("cut: 375 of 461 characters")


@pytest.mark.parametrize(
    "question",
    [
        which_version_of_kickoff_did_the_prompt_at_10_59_hold,
        why_did_the_agent_not_see_the_daily_note,
        what_did_this_conversation_cost_and_why,
        which_action_made_the_note_active_that_the_agent_read,
        was_the_answer_to_call_181_complete,
    ],
)
def test_a_question_is_answered_by_three_clicks_from_the_first_page(
    open_page: OpenPage, morning: Inspector, question: Callable[[Reader], None]
) -> None:
    reader = Reader(open_page(morning.url).page)
    question(reader)
    assert reader.clicks <= CLICKS_MAX
