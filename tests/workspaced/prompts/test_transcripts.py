"""Transcripts over a real daemon: what runtimes do with them besides asking turn by turn."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

NOTES = {
    "a.md": "# A\n\n" + "Alpha is red.\n" * 30,
    "b.md": "# B\n\nBeta is blue.\n",
    "c.md": "# C\n\nGamma.\n",
    "i.md": "![[x.png]]\n",
}
SETTINGS = {"provider": "anthropic", "model": "large", "context_window": 50_000, "output_reserve": 1_000}


@pytest.fixture(scope="module")
def running(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture
def context(running: Any) -> Iterator[Any]:
    with running.connect("runtime") as client:
        yield client.context


@pytest.fixture
def talk(context: Any) -> str:
    name: str = context.start(**SETTINGS, system="You help.", environment=False)["conversation"]
    return name


def user(text: str, *notes: str, **more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "text": text,
        "attachments": [{"kind": "note", "id": note} for note in notes],
        **more,
    }


def last_text(prompt: dict[str, Any]) -> str:
    return "\n\n".join(block["text"] for block in prompt["messages"][-1]["content"] if block["type"] == "text")


def test_attachments_of_all_messages_since_the_last_answer_count(context: Any, talk: str) -> None:
    context.message(talk, user("First.", "a.md"), user("And this.", "b.md"))
    said = last_text(context.assemble(talk))
    assert "Alpha is red." in said and "Beta is blue." in said


def test_a_message_that_was_sent_is_no_longer_attached_to_the_next_one(context: Any, talk: str) -> None:
    context.message(talk, user("First.", "a.md"))
    context.assemble(talk)
    context.message(talk, user("And this.", "b.md"))  # the answer was stopped before it began
    prompt = context.assemble(talk)
    assert "Alpha is red." not in last_text(prompt) and "Beta is blue." in last_text(prompt)
    assert "Alpha is red." in prompt["messages"][1]["content"][0]["text"]


def test_a_prompt_may_end_with_the_assistants_message(context: Any, talk: str) -> None:
    context.message(talk, user("Go on.", "a.md"), {"role": "assistant", "text": "I begin"})
    prompt = context.assemble(talk, shape="anthropic")
    assert [each["role"] for each in prompt["body"]["messages"]] == ["user", "assistant", "user"]
    assert any("A user's message stands after all others" in change for change in prompt["changes"])


def test_the_active_note_is_the_one_that_was_active_when_the_message_came(
    running: Any, context: Any, talk: str
) -> None:
    with running.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
        context.message(talk, user("What is it?", id="m1", attachments=[{"kind": "active_note"}]))
        editor.publish([{"type": "active_note_set", "data": {"note": "c.md"}}])
    context.message(talk, user("What is it?", id="m1", attachments=[{"kind": "active_note"}]))  # sent again
    said = last_text(context.assemble(talk))
    assert "Beta is blue." in said and "Gamma." not in said


def test_a_selection_is_the_one_of_the_moment_when_the_message_came(running: Any, context: Any, talk: str) -> None:
    with running.connect("editor") as editor:
        chosen = {"note": "b.md", "startLine": 3, "endLine": 3, "text": "Beta is blue."}
        editor.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
        editor.publish([{"type": "selection_changed", "data": chosen}])
        context.message(talk, user("This?", attachments=[{"kind": "selected_text"}]))
        other = {"note": "b.md", "startLine": 1, "endLine": 1, "text": "# B"}
        editor.publish([{"type": "selection_changed", "data": other}])
    prompt = context.assemble(talk)
    assert "Beta is blue." in last_text(prompt) and "# B" not in last_text(prompt)
    [record] = [each for each in prompt["manifest"]["entries"] if each["kind"] == "selected_text"]
    assert (record["id"], record["state"]) == ("b.md#L3-L3", "full")


def test_with_each_turn_the_library_takes_over_at_once(context: Any) -> None:
    talk = context.start(**SETTINGS, system="You help.", environment=False, promotion="each_turn")["conversation"]
    for number, notes in enumerate([("a.md",), ("a.md", "b.md"), ("a.md",)]):
        context.message(talk, user(f"Question {number}.", *notes))
        prompt = context.assemble(talk)
        library = [segment["id"] for segment in prompt["layers"][1]["segments"]]
        assert library == [[], ["a.md"], ["a.md", "b.md"]][number]
        context.message(talk, {"role": "assistant", "text": "Yes."})
    assert "Attached: a.md (above)" in last_text(prompt)


def test_a_rebase_has_each_note_once_in_its_present_version(running: Any, context: Any, talk: str) -> None:
    path = running.vault / "d.md"
    for number in range(3):
        path.write_text(f"# D\n\nVersion {number}.\n")
        with running.connect() as client:
            client.call("workspaced/reconcile")
        context.message(talk, user(f"Question {number}.", "d.md"))
        context.assemble(talk)
        context.message(talk, {"role": "assistant", "text": "Yes."})
    context.rebase(talk)
    context.message(talk, user("And?"))
    prompt = context.assemble(talk)
    whole = "\n".join(block.get("text") or "" for message in prompt["messages"] for block in message["content"])
    assert "Version 2." in whole and "Version 0." not in whole and whole.count("<note_context>") == 1


def test_an_imported_chat_has_in_its_library_what_its_messages_attach(context: Any, talk: str) -> None:
    context.message(talk, user("One?", "a.md"), {"role": "assistant", "text": "Yes."})
    context.message(talk, user("Two?", "b.md"), {"role": "assistant", "text": "Yes."})
    text = context.export(talk)["text"]
    copy = context.import_chat(text, conversation=f"{talk}-copy")["conversation"]
    assert context.import_chat(text, conversation=copy)["conversation"] == copy  # sent again: nothing happens
    context.message(copy, user("And now?", "a.md"))
    prompt = context.assemble(copy)
    assert [segment["id"] for segment in prompt["layers"][1]["segments"]] == ["a.md", "b.md"]
    assert "Alpha is red." in prompt["messages"][0]["content"][0]["text"]
    assert last_text(prompt).startswith("Attached: a.md (above)")


def talk_until(running: Any, context: Any, talk: str, number: int, *, summarise: bool = True) -> list[str]:
    """Speaks so many turns, sums up whenever that is asked for; returns the types and reasons of what happened."""
    with running.connect("summariser") as client:
        for _ in range(number):
            context.message(talk, user("What was packed, and who carried it? " * 20))
            context.assemble(talk)
            context.message(talk, {"role": "assistant", "text": "Boxes. " * 20})
            asked = [each["data"] for each in events_of(client, talk, "context_near_limit")]
            if summarise and asked:
                context.summary(talk, "They packed boxes.", up_to=asked[-1]["upTo"])
        told = events_of(client, talk, "context_near_limit", "context_folded")
    return [each["data"].get("reason", "near limit") for each in told]


def events_of(client: Any, talk: str, *types: str) -> list[dict[str, Any]]:
    events = client.call("workspaced/log", {"limit": 10_000, "types": list(types)})["events"]
    return [each for each in events if each["data"]["conversation"] == talk]


SMALL = {**SETTINGS, "context_window": 3_000, "output_reserve": 500, "environment": False}


def test_near_its_limit_a_conversation_asks_for_a_summary_once(running: Any, context: Any) -> None:
    talk = context.start(**SMALL)["conversation"]
    happened = talk_until(running, context, talk, 60, summarise=False)
    assert happened[:4] == ["near limit", "budget"] * 2 and len(happened) > 5
    assert set(pairwise(happened)) == {("near limit", "budget"), ("budget", "near limit")}
    again = context.start(**SMALL)["conversation"]
    happened = talk_until(running, context, again, 60)
    assert happened[:4] == ["near limit", "summary"] * 2 and set(happened) == {"near limit", "summary"}


def test_a_conversation_in_a_larger_window_asks_anew(running: Any, context: Any) -> None:
    talk = context.start(**SMALL)["conversation"]
    assert talk_until(running, context, talk, 10, summarise=False) == ["near limit"]
    context.start(conversation=talk, **{**SMALL, "context_window": 5_000})
    assert talk_until(running, context, talk, 8, summarise=False) == ["near limit"] * 2


def test_an_event_of_a_prompt_has_what_its_manifest_adds_up_to(running: Any, context: Any, talk: str) -> None:
    context.pin(talk, "gone", "note", path="gone.md")
    context.message(talk, user("First.", "a.md", "gone.md"))
    manifest = context.assemble(talk)["manifest"]
    with running.connect("meter") as client:
        [made] = events_of(client, talk, "prompt_assembled")
    totals = made["data"]["totals"]
    assert {layer["id"]: layer["tokens"] for layer in manifest["layers"] if layer["tokens"]} == {
        name: value for name, value in totals.items() if name.startswith("L")
    }
    states = [entry["state"] for entry in manifest["entries"]]
    assert (totals["failed"], totals.get("dropped", 0)) == (states.count("failed"), states.count("dropped"))
    assert totals["failed"] == 2


def test_what_a_turn_attached_that_no_prompt_was_made_of_is_recorded(context: Any, talk: str) -> None:
    context.message(talk, user("First.", "a.md"), {"role": "assistant", "text": "From what I know."})
    attached = [
        {"kind": "url", "id": "https://x.example/", "text": "X."},
        {"kind": "skill", "id": "s", "text": "S."},
    ]
    more = user("Second.", attachments=attached)
    context.message(
        talk, more, {"role": "assistant", "text": "Yes."}, user("Third.", "b.md"), user("Now?", "b.md")
    )
    first = context.assemble(talk)
    assert "Alpha is red." not in json.dumps(first) and "S." in json.dumps(first["messages"])
    assert never_sent(first) == ["a.md", "https://x.example/"], "b.md is shown now, and the skill in its turn"
    context.message(talk, {"role": "assistant", "text": "Yes."}, user("Again?", "a.md"))
    assert never_sent(context.assemble(talk)) == ["https://x.example/"]


def never_sent(prompt: dict[str, Any]) -> list[str]:
    entries = prompt["manifest"]["entries"]
    assert all(each["layer"] == "L4_STRIP" for each in entries if each["state"] == "dropped")
    return [each["id"] for each in entries if each["state"] == "dropped"]


@pytest.mark.parametrize("promotion", [None, "at_fold"])
def test_where_a_provider_keeps_the_library_by_name_it_takes_over_each_turn(context: Any, promotion: Any) -> None:
    talk = context.start(**SETTINGS, system="You help.", environment=False, promotion=promotion)["conversation"]
    context.message(talk, user("First.", "a.md"))
    context.assemble(talk, shape="gemini")
    context.assemble(talk, shape="gemini", cached_content="cachedContents/1")
    context.message(talk, {"role": "assistant", "text": "Yes."}, user("Second."))
    offer = context.assemble(talk, shape="gemini")["cachedContent"]
    again = context.assemble(talk, shape="gemini", cached_content="cachedContents/2")
    kept = "Alpha is red." in json.dumps(offer)
    assert (kept, "Alpha is red." in json.dumps(again["body"])) == (
        (True, False) if promotion is None else (False, True)
    )


def test_an_image_of_the_active_note_that_cannot_be_sent_is_named_once(context: Any, talk: str) -> None:
    said = []
    for number in range(3):
        context.message(talk, user(f"{number}?", attachments=[{"kind": "active_note", "id": "i.md"}]))
        prompt = context.assemble(talk, rebase=number == 2)
        said.append(last_text(prompt).count("[Image unavailable: x.png]"))
        states = [each["state"] for each in prompt["manifest"]["entries"] if each["id"] == "x.png"]
        assert "failed" in states
        context.message(talk, {"role": "assistant", "text": "Yes."})
    assert said == [1, 0, 0]
