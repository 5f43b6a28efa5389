"""Odd input and load. Each test is a defect that an attack found; its comment says what was wrong."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from support import provider_bodies as bodies
from support.daemon import refusal

SETTINGS = {"provider": "anthropic", "model": "m", "system": "You help.", "environment": False}
NOTES = {f"n{at}.md": f"Note {at}.\n" * 60 for at in range(6)}


class Talk:
    def __init__(self, running: Any, window: int = 50_000, **more: Any) -> None:
        self.running = running
        self.context = running.connect("runtime").context
        settings = {**SETTINGS, "context_window": window, "output_reserve": 0, **more}
        self.id = self.context.start(conversation="talk", **settings)["conversation"]

    def say(self, role: str = "user", text: str | None = None, *notes: str, **more: Any) -> str:
        message = {"role": role, **({} if text is None else {"text": text}), **more}
        if notes:
            message["attachments"] = [{"kind": "note", "id": note} for note in notes]
        name: str = self.context.message(self.id, message)["messages"][0]
        return name

    def ask(self, **more: Any) -> dict[str, Any]:
        prompt: dict[str, Any] = self.context.assemble(self.id, **more)
        return prompt

    def turns(self, count: int) -> list[str]:
        """The ids of the messages of whole turns."""
        ids = []
        for at in range(count):
            ids.append(self.say("user", f"Question {at}."))
            self.ask()
            ids.append(self.say("assistant", f"Answer {at}."))
        return ids


def text_of(prompt: dict[str, Any]) -> str:
    return json.dumps(prompt["messages"])


# `_unanswered` (sources/gather.py) stops at a message that a prompt came after, known by
# `conversation.turns`; a fold removes the turns that it leaves out from there. So the second prompt of the
# same message goes beyond the fold, and attaches again what the fold has just left out: other bytes, though
# nothing changed, and no event says why.
def test_a_prompt_that_folded_an_unanswered_message_is_the_same_when_asked_again(daemon: Any) -> None:
    talk = Talk(daemon(notes=NOTES), history_turns=1)
    talk.say("user", "One?", "n0.md")
    talk.ask()
    talk.say("user", "Two?")
    talk.say("user", "Three?")
    talk.say("user", "Four?", "n1.md")
    first = talk.ask()
    assert "n0.md" not in str(first["messages"][-1]["content"])
    assert talk.ask()["messages"] == first["messages"]


# The same in a narrow window: the first prompt fits, since its fold left the large note out; asked again, the
# same message brings the large note back, and is refused.
def test_a_prompt_that_fits_by_a_fold_fits_when_it_is_asked_again(daemon: Any) -> None:
    talk = Talk(daemon(notes=NOTES), window=340)
    talk.say("user", "One?", "n0.md")
    talk.ask()
    for at in range(4):
        talk.say("user", f"And {at}? {'w ' * 60}")
    talk.say("user", "Last?", "n1.md")
    first = talk.ask()
    assert talk.ask()["messages"] == first["messages"]


# The summary is what takes the room (10,017 of 10,023 tokens), yet the error's "most of it" and `largest`
# name three things of 1 to 3 tokens, and its hint says that "the largest of these" should be shortened.
def test_the_error_of_a_summary_that_is_too_large_names_the_summary(daemon: Any) -> None:
    talk = Talk(daemon(), window=1_500)
    ids = talk.turns(3)
    talk.say("user", "And now?")
    talk.context.summary(talk.id, "Words " * 8_000, up_to=ids[3])
    error = refusal(talk.ask)
    assert error.code == "BUDGET_EXCEEDED"
    assert "'summary'" in str(error).split("most of it", 1)[1], error


# What takes the room is a pin; the hint is about attachments, though nothing is attached.
def test_the_error_of_a_pin_that_is_too_large_says_to_unpin(daemon: Any) -> None:
    talk = Talk(daemon(notes={"big.md": "Big words. " * 3_000}), window=1_500)
    talk.context.pin(talk.id, "p", "note", path="big.md")
    talk.say("user", "What?")
    assert "npin" in str(refusal(talk.ask))


# An image of no bytes is "in base64", so it goes to every provider as an empty image, which each of them
# refuses; it stays in the transcript, so that every later request of the conversation is refused as well.
@pytest.mark.parametrize("place", ["attachment", "result"])
@pytest.mark.parametrize("shape", bodies.SHAPES)
def test_an_image_without_a_byte_is_in_no_body(daemon: Any, shape: str, place: str) -> None:
    talk = Talk(daemon())
    empty = "data:image/png;base64,"
    if place == "attachment":
        talk.say("user", "What is it?", attachments=[{"kind": "image", "id": "i.png", "text": empty}])
    else:
        talk.say("user", "Look.")
        talk.say("assistant", toolCalls=[{"id": "1", "name": "look"}])
        result = {"id": "1", "name": "look", "text": "Seen.", "images": [{"text": empty}]}
        try:
            talk.say("user", toolResults=[result])
        except Exception as error:  # a refusal with a code is right too
            assert getattr(error, "code", None) == "INVALID_ARGUMENT"
            return
    body = json.dumps(talk.ask(shape=shape, layers=False)["body"])
    assert not re.search(r'"data": ""|base64,"', body), body


# Redacted thinking without data goes to Anthropic as `{"type": "redacted_thinking", "data": ""}`, which it
# refuses; thinking with an empty signature is left out already.
def test_redacted_thinking_without_data_is_in_no_body(daemon: Any) -> None:
    talk = Talk(daemon())
    talk.say("user", "Why?")
    try:
        talk.say("assistant", "So.", thinking=[{"redacted": ""}])
    except Exception as error:
        assert getattr(error, "code", None) == "INVALID_ARGUMENT"
        return
    talk.say("user", "And?")
    assert '"data": ""' not in json.dumps(talk.ask(shape="anthropic", layers=False)["body"])


# Removing the last message that a summary covers drops the summary, but not the fold made for it: the other
# messages under it are in no prompt any more, neither in words nor summed up, and the manifest says "budget"
# although almost the whole window is free. (Removing any other message under the summary keeps the summary.)
def test_removing_the_last_message_under_a_summary_does_not_lose_the_others(daemon: Any) -> None:
    talk = Talk(daemon())
    ids = talk.turns(4)
    talk.say("user", "And now?")
    talk.context.summary(talk.id, "In short: it began.", up_to=ids[3])
    assert "In short" in text_of(talk.ask())
    talk.context.message(talk.id, remove=ids[3])
    prompt = text_of(talk.ask())
    assert "In short" in prompt or "Question 0." in prompt


# The manifest names each message that any fold has ever left out, one record each, and is stored as a blob
# with every prompt: in a window of fixed size both grow with every turn, so the log grows with the square of
# the turns.
@pytest.mark.thorough
def test_what_a_prompt_adds_to_the_log_does_not_grow_with_what_folds_left_out(daemon: Any) -> None:
    talk = Talk(daemon(), window=2_000)

    def added(count: int) -> float:
        before = size_of(talk.running.data)
        for at in range(count):
            talk.say("user", f"Question {at}. {'word ' * 20}")
            talk.ask(layers=False)
            talk.say("assistant", "So it is. " * 5)
        return (size_of(talk.running.data) - before) / count

    added(60)  # the window is full
    early = added(40)
    added(160)
    assert added(40) < 1.5 * early


def size_of(data: Path) -> int:
    return sum(path.stat().st_size for path in data.rglob("*") if path.is_file() and "cache" not in path.parts)


CLOCK = """
import time
_now, _now_ns = time.time, time.time_ns
time.time = lambda: _now() - 4e9
time.time_ns = lambda: _now_ns() - 4 * 10**18
"""


# Before 1970 the milliseconds are negative, and so is the number that `uuid7` formats:
# "-01685e9-c927-8066-...".
def test_ids_are_uuids_whatever_the_clock_says(daemon: Any, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    running = daemon(env={"PYTHONPATH": str(tmp_path)}, real=True)
    talk = Talk(running)
    name = talk.say("user", "What time is it?")
    assert str(uuid.UUID(name)) == name


# A note changed since it was shown is only named in a turn's first prompt, so its new text is not recorded. A
# fold in a later prompt of the same turn records it all the same (`source_actions` of prompts/assemble.py heeds no
# `Present.is_kept`): `artifact_recorded` names a blob that was never written, and the whole log is LOG_DAMAGED
# from then on: `replay --verify` stops with exit code 4.
def test_a_fold_within_a_turn_names_no_text_that_was_never_stored(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    talk = Talk(running)
    talk.say("user", "One?", "n0.md")
    talk.ask()
    answer = talk.say("assistant", "One.")
    (running.vault / "n0.md").write_text("Note 0.\n" * 59 + "Another line.\n")
    running.connect("editor").call("workspaced/reconcile")
    talk.say("user", "Two?")
    talk.ask()
    (running.vault / "n0.md").write_text("Nothing of it is left.\n")
    running.connect("editor").call("workspaced/reconcile")
    talk.say("assistant", "I go on.")
    talk.context.summary(talk.id, "In short.", up_to=answer)
    talk.ask()
    done = running.cli("replay", "--verify", "--json", str(running.data))
    assert done.returncode == 0, done.stdout[-600:]
