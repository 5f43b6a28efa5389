"""A wrong answer, as somebody judges it from its page and looks what another text of a note would have changed."""

from typing import TYPE_CHECKING, Any

import pytest
from support.inspector import Inspector
from support.inspector_page import NARROW, OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.thorough
PROMPT = 163
KICKOFF = "projects/ferrybook/Kickoff.md"


def test_an_answer_is_judged_where_a_daemon_takes_it(open_page: OpenPage, daemon: Any) -> None:
    running = daemon()
    with running.connect("claude") as claude:
        claude.tool("get_workspace_context")
        seq = claude.call("workspaced/calls")["calls"][-1]["seq"]
        with Inspector("--socket", running.socket, "--allow-changes", env=running.env) as inspector:
            opened = open_page(inspector.url)
            page = opened.page
            page.get_by_text("live: the daemon tells what happens").wait_for()
            page.evaluate(f"location.hash = '#/call/{seq}'")
            page.get_by_text("Was the answer right?").click()
            page.get_by_role("button", name="It was wrong").click()
            page.get_by_text("Expected `wanted`").wait_for()
            assert ["400" in problem for problem in opened.problems()] == [True]  # the browser reports the refusal
            page.get_by_label("A right answer says").fill("b.md is open")
            page.get_by_role("button", name="It was wrong").click()
            page.locator("details.judged summary q").get_by_text("b.md is open").wait_for()
            assert opened.accessibility_violations() == []
            assert claude.call("workspaced/log", {"from": seq, "types": ["answer_judged"]})["events"]
            page.close()  # before what it talks with ends


def test_a_prompt_with_another_text_of_a_note_without_it_and_with_one_more(
    open_page: OpenPage, morning: Inspector
) -> None:
    opened = open_page(morning.url, NARROW)
    page = opened.show(f"prompt/{PROMPT}/what-if")
    page.get_by_label("Which note").select_option(KICKOFF)
    text = page.get_by_label("The note's text")
    text.fill(text.input_value().replace("22 June", "29 June"))
    text.blur()
    page.get_by_text("- Release 1 before the school holidays: **29 June**").first.wait_for()
    assert f"--with {KICKOFF}=Kickoff.md" in page.locator(".command code").last.inner_text()
    page.get_by_role("button", name="was not there").click()
    page.get_by_text(f"--without {KICKOFF}").wait_for()
    page.get_by_label("Another note").fill("work/more.md")
    held: list[Route] = []
    page.route("**/supposed", lambda route: held.append(route))
    with page.expect_request("**/supposed"):
        page.get_by_role("button", name="Attach").click()
    text.fill("Release 1 comes on 29 June.")  # while the answer is on its way
    with page.expect_response("**/supposed"):
        held[0].continue_()
    page.unroute("**/supposed")
    page.get_by_text("<path>work/more.md</path>").first.wait_for()
    text.blur()
    page.get_by_text("Release 1 comes on 29 June.").first.wait_for()
    page.get_by_text("--with work/more.md=more.md").wait_for()
    assert opened.accessibility_violations() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="was not there").click()  # as it was, so it is a note of the list no more
    page.get_by_text("--with work/more.md").wait_for(state="detached")
    assert page.get_by_label("Which note").get_by_role("option", name="work/more.md").count() == 0
    page.get_by_label("Another note").fill("../more.md")
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("alert").get_by_text("leads out of the vault").wait_for()
    assert ["400" in problem for problem in opened.problems()] == [True]  # the browser reports the refusal
    page.get_by_role("button", name="was not there").click()
    page.get_by_role("alert").wait_for(state="detached")
    page.get_by_text("Was the answer right?").click()
    assert page.get_by_role("button", name="It was wrong").count() == 0
