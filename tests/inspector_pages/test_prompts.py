"""The page's views of prompts, used as a person does: with mouse, keys and links."""

import shlex
from typing import Any
from urllib.parse import quote

import pytest
from support import process
from support.inspector import Inspector
from support.inspector_page import OpenPage

pytestmark = pytest.mark.thorough


def test_a_person_follows_a_missed_cache_to_the_text_that_was_read_again(
    open_page: OpenPage, morning: Inspector
) -> None:
    page = open_page(morning.url).show("prompt")
    page.get_by_role("link", name="letter-to-imke").click()
    row = page.get_by_role("listitem").filter(has_text="cache missed: folded: budget")
    row.get_by_role("link").click()
    page.get_by_role("heading", name="Prompt 110").wait_for()
    page.get_by_text("rebuilt: same").wait_for()
    page.get_by_role("link", name="projects/ferrybook/Booking flow.md").first.click()
    detail = page.get_by_role("complementary", name="The chosen block")
    detail.get_by_text("<title>Booking flow</title>").wait_for()
    detail.get_by_text("rewritten").wait_for()
    assert detail.get_by_role("link", name="prompt 103").get_attribute("href") == "#/prompt/103"
    assert page.url.endswith("#/prompt/110/layer/L4/block/6")


def test_keys_step_through_blocks_and_prompts(open_page: OpenPage, morning: Inspector) -> None:
    opened = open_page(morning.url)
    page = opened.show("prompt/110")
    for key, end in [
        ("j", "#/prompt/110/layer/L1/block/1"),
        ("j", "#/prompt/110/layer/L1/block/2"),
        ("k", "#/prompt/110/layer/L1/block/1"),
        ("]", "#/prompt/159"),
    ]:
        page.keyboard.press(key)
        page.wait_for_url(f"**/{end}")
        opened.settled()


def test_command_lines_of_a_conversation_run_whatever_its_id_is(open_page: OpenPage, daemon: Any) -> None:
    running, chat = daemon(), "a b; touch evil $(touch evil)"
    with running.connect("agent") as agent:
        window = {"contextWindow": 8_000, "outputReserve": 500}
        agent.call(
            "workspaced/context/start", {"conversation": chat, "provider": "anthropic", "model": "m", **window}
        )
        for number in range(2):
            message = {"role": "user", "id": f"q{number}", "text": "Which ceiling?"}
            agent.call("workspaced/context/message", {"conversation": chat, "messages": [message]})
            agent.call("workspaced/context/assemble", {"conversation": chat, "shape": "anthropic"})
    running.stop()
    with Inspector(running.data, env=running.env) as inspector:
        (conversation,) = inspector.get("/api/conversations")["conversations"]
        seq = conversation["lastSeq"]
        opened = open_page(inspector.url)
        for view in (
            "of/" + quote(chat, safe=""),
            f"{seq}",
            f"{seq}/layer/L5/block/1",
            f"{seq}/body",
            f"{seq}/diff",
        ):
            opened.show(f"prompt/{view}")
            for line in opened.page.locator("main#view .command code").all_inner_texts():
                words = shlex.split(line)
                assert words[:4] == ["workspaced", "context", "show", chat]
                ran = process.run(*words[1:], env=running.env)
                assert ran.returncode == 0, ran.stderr
        opened.page.close()  # before the inspector ends
