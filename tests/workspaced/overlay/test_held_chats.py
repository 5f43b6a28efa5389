"""Chats that the provider holds: a request names an answer, or its conversation, and brings what is new alone."""

import json
from hashlib import sha256
from typing import Any

import pytest
from support.insertions import told
from support.overlaid_runtime import looking_at, looks_at

from workspaced import replay
from workspaced.overlay.asking import METHOD, overlaid, params_of
from workspaced.overlay.request import read_request

NOTES = {"a.md": "# A\n\nAlpha.\n", "b.md": "# B\n\nBeta.\n", "c.md": "# C\n\nGamma.\n"}
USAGE = {"input_tokens": 9, "output_tokens": 2}


class Program:
    """A client that keeps nothing of its chats but names."""

    def __init__(self, daemon: Any, client: str = "agent") -> None:
        self.daemon, self.client = daemon, client
        self.usage: dict[str, Any] = USAGE
        self.finished: list[dict[str, Any]] = []

    def asks(self, words: Any, answer: str | None, **named: Any) -> list[str]:
        """What is put into a request that leaves, and is answered by that name."""
        request = read_request("responses", body := json.dumps({"input": words, **named}).encode())
        with self.daemon.connect(name=self.client) as client:
            given = client.call(METHOD, params_of(request))
            sent = overlaid(request, body, given)
            if given["token"] is not None:
                client.call(f"{METHOD}/confirm", {"token": given["token"], "bodySha256": "0" * 64})
                params = {"token": given["token"], "form": "responses", "usage": self.usage}
                if answer is not None:
                    params["responseId"] = sha256(answer.encode()).hexdigest()
                self.finished.append(client.call(f"{METHOD}/finished", params))
        return told(sent)


@pytest.fixture
def program(running: Any) -> Program:
    return Program(running)


def recorded(running: Any, kind: str) -> list[dict[str, Any]]:
    return [each["data"] for each in running.events(kind)]


@pytest.mark.parametrize("count", [10**30, -1, "9"])
def test_a_false_count_is_left_out_and_logged_once_and_the_chat_goes_on(
    running: Any, program: Program, count: Any
) -> None:
    program.usage = {**USAGE, "input_tokens": count}
    assert looking_at(program.asks("One?", "r1")) == ["a.md"]
    assert program.asks("Two?", "r2", previous_response_id="r1") == []
    for finished in program.finished:
        assert finished["recorded"] and finished["reason"].startswith("Expected a number of tokens")
    answered = recorded(running, "prompt_answered")
    assert [each.get("inputTokens") for each in answered] == [None] * 2
    assert not [each for each in answered if each.get("outputTokens") or each.get("cachedTokens")]
    assert running.stop() == 0
    assert len([line for line in running.stderr if "is not recorded" in line]) == 1


def test_it_is_told_the_difference_and_where_nothing_changed_nothing(running: Any, program: Program) -> None:
    assert looking_at(program.asks("One?", "r1")) == ["a.md"]
    assert program.asks("Two?", "r2", previous_response_id="r1") == []
    looks_at(running, "b.md")
    (third,) = program.asks("Three?", "r3", previous_response_id="r2")
    assert looking_at([third]) == ["b.md"] and "Alpha" not in third
    assert program.asks("Four?", "r4", previous_response_id="r3") == []
    inserted = recorded(running, "context_inserted")
    assert inserted[1]["after"] == inserted[0]["insertion"]
    assert len({each["session"] for each in inserted}) == 1
    assert [each["insertion"] for each in recorded(running, "prompt_overlaid")] == [
        inserted[number]["insertion"] for number in (0, 0, 1, 1)
    ]


def test_what_is_asked_anew_or_twice_goes_on_from_there(running: Any, program: Program) -> None:
    program.asks("One?", "r1")
    looks_at(running, "b.md")
    second = program.asks("Two?", "r2", previous_response_id="r1")
    assert program.asks("Two?", "r2-again", previous_response_id="r1") == second
    looks_at(running, "c.md")
    (other,) = program.asks("Two?", "r2-other", previous_response_id="r1")
    assert looking_at([other]) == ["c.md"]
    assert looking_at(program.asks("So?", "r3", previous_response_id="r2-again")) == ["c.md"]
    assert program.asks("So?", "r3-other", previous_response_id="r2-other") == []


@pytest.mark.parametrize("named", ["conv", {"id": "conv"}])
def test_a_conversation_has_one_name_and_the_same_words_are_another_turn(
    running: Any, program: Program, named: Any
) -> None:
    assert looking_at(program.asks("Go on.", "conv", conversation=named)) == ["a.md"]
    assert program.asks("Go on.", "conv", conversation=named) == []
    looks_at(running, "b.md")
    assert looking_at(program.asks("Go on.", "conv", conversation=named)) == ["b.md"]
    assert program.asks("Go on.", "conv", conversation=named) == []


def test_a_name_that_nobody_told_is_a_chat_of_which_nothing_is_known(running: Any, program: Program) -> None:
    program.asks("One?", None)
    assert looking_at(program.asks("Two?", "r2", previous_response_id="r1")) == ["a.md"]
    assert looking_at(Program(running, "another").asks("Three?", "r3", previous_response_id="r2")) == ["a.md"]
    assert program.asks("Three?", "r3", previous_response_id="r2") == []


def test_what_the_provider_holds_of_a_note_that_is_withheld_by_now_stays_there(
    running: Any, program: Program
) -> None:
    program.asks("One?", "r1")
    looks_at(running, "b.md")
    (running.vault / "a.md").write_text("---\nworkspaced: private\n---\n" + NOTES["a.md"])
    (told_then,) = program.asks("Two?", "r2", previous_response_id="r1")
    assert looking_at([told_then]) == ["b.md"] and "a.md" not in told_then
    assert recorded(running, "context_withdrawn") != []
    assert [each.get("without") for each in recorded(running, "prompt_overlaid")] == [None, None]
    assert program.asks("Three?", "r3", previous_response_id="r2") == []


def test_a_chat_that_was_sent_whole_and_then_is_held_goes_on_after_a_restart(
    running: Any, program: Program
) -> None:
    first = {"role": "user", "content": "One?"}
    program.asks([first], None)
    looks_at(running, "b.md")
    running.restart()
    rest = [{"role": "assistant", "content": "1."}, {"role": "user", "content": "Two?"}]
    assert looking_at(program.asks([first, *rest], "r2")) == ["a.md", "b.md"]
    running.restart()
    assert program.asks("Three?", "r3", previous_response_id="r2") == []
    assert running.stop() == 0
    with replay.open(running.data) as log:
        assert {each.outcome for each in log.verify()} == {"same"}
