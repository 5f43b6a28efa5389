"""Transcripts over a real daemon: what runtimes do besides asking turn by turn, and what stays as it was."""

import json
from itertools import pairwise
from typing import Any

import pytest
from support.talk import DaemonTalk, Talk, sent, user

NOTES = {"a.md": "# A\n\n" + "Alpha is red.\n" * 30, "b.md": "# B\n\nBeta is blue.\n", "c.md": "# C\n\nGamma.\n"}
SMALL = {"context_window": 3_000, "output_reserve": 500, "environment": False}


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture
def talk(client: Any) -> Talk:
    return Talk(client, provider="anthropic", system="You help.", environment=False)


def last_text(prompt: dict[str, Any]) -> str:
    return "\n\n".join(block["text"] for block in prompt["messages"][-1]["content"] if block["type"] == "text")


# -- what belongs to a turn --


def test_what_the_user_has_before_them_is_that_of_the_moment_when_the_message_came(
    shared: Any, talk: Talk
) -> None:
    def looks_at(note: str, line: int, text: str) -> None:
        shared.publish("active_note_set", note=note)
        shared.publish("selection_changed", note=note, startLine=line, endLine=line, text=text)

    message = user("This?", {"kind": "active_note"}, {"kind": "selected_text"}, id=f"{talk.id}-m1")
    looks_at("b.md", 3, "Beta is blue.")
    talk.say(**message)
    looks_at("c.md", 1, "# C")
    talk.say(**message)  # sent again
    prompt = talk.prompt()
    assert "Beta is blue." in last_text(prompt) and "# C" not in last_text(prompt)
    [record] = [each for each in prompt["manifest"]["entries"] if each["kind"] == "selected_text"]
    assert (record["id"], record["state"]) == ("b.md#L3-L3", "full")


@pytest.mark.parametrize("watch", ["--watch", "--no-watch"])
def test_the_notes_of_a_folder_that_was_created_a_moment_ago_are_in_the_prompt(daemon: Any, watch: str) -> None:
    talk = DaemonTalk(daemon(watch, "--deny", "secret*", "--reconcile-s", "600"))
    folder = {"kind": "folder", "id": "new"}
    (talk.running.vault / "new" / "sub").mkdir(parents=True)
    for name, text in (
        ("one", "The first text."),
        ("sub/two", "The second text."),
        ("private", "---\nworkspaced: private\n---\nThe hidden text."),
        ("secret", "The hidden text."),
    ):
        (talk.running.vault / "new" / f"{name}.md").write_text(text)
    prompt = str(talk.ask("What is new?", folder))
    assert "The first text." in prompt and "The second text." in prompt
    assert not any(word in prompt for word in ("hidden", "private", "secret"))
    (talk.running.vault / "new" / "three.md").write_text("The third text.")
    assert "The third text." in str(talk.ask("And now?", folder))


# -- near the limit --


def happened(talk: Talk, turns: int, *, summarise: bool) -> list[str]:
    """Speaks so many turns, sums up whenever that is asked for; the reasons of what happened."""
    for _ in range(turns):
        talk.user("What was packed, and who carried it? " * 20)
        talk.prompt()
        talk.assistant("Boxes. " * 20)
        asked = talk.told("context_near_limit")
        if summarise and asked:
            talk.context.summary(talk.id, "They packed boxes.", up_to=asked[-1]["upTo"])
    return [each.get("reason", "near limit") for each in talk.told("context_near_limit", "context_folded")]


def test_near_its_limit_a_conversation_asks_for_a_summary_once(client: Any) -> None:
    found = happened(Talk(client, **SMALL), 40, summarise=False)
    assert found[:4] == ["near limit", "budget"] * 2
    assert set(pairwise(found)) == {("near limit", "budget"), ("budget", "near limit")}
    found = happened(Talk(client, **SMALL), 40, summarise=True)
    assert found[:4] == ["near limit", "summary"] * 2 and set(found) == {"near limit", "summary"}


# -- the manifest, and what a provider cannot take --


def test_what_a_turn_attached_that_no_prompt_was_made_of_is_recorded(talk: Talk) -> None:
    def never_sent(prompt: dict[str, Any]) -> list[str]:
        dropped = [each for each in prompt["manifest"]["entries"] if each["state"] == "dropped"]
        assert all(each["layer"] == "L4_STRIP" for each in dropped)
        return [each["id"] for each in dropped]

    talk.user("First.", "a.md")
    talk.assistant("From what I know.")
    page = {"kind": "url", "id": "https://x.example/", "text": "X."}
    talk.user("Second.", page)
    talk.assistant("Yes.")
    talk.user("Third.", "b.md")
    first = talk.ask("Now?", "b.md")
    assert "Alpha is red." not in json.dumps(first)
    assert never_sent(first) == ["a.md", "https://x.example/"], "b.md is shown now"
    talk.user("Again?", "a.md")
    assert never_sent(talk.prompt()) == ["https://x.example/"]


@pytest.mark.parametrize("promotion", [None, "at_fold"])
def test_where_a_provider_keeps_the_library_by_name_it_takes_over_each_turn(client: Any, promotion: Any) -> None:
    talk = Talk(client, provider="anthropic", system="You help.", environment=False, promotion=promotion)
    talk.user("First.", "a.md")
    talk.prompt(shape="gemini")
    talk.prompt(shape="gemini", cached_content="cachedContents/1")
    talk.assistant("Yes.")
    talk.user("Second.")
    offer = talk.prompt(shape="gemini")["cachedContent"]
    again = talk.prompt(shape="gemini", cached_content="cachedContents/2")["body"]
    kept = ["Alpha is red." in json.dumps(each) for each in (offer, again)]
    assert kept == ([True, False] if promotion is None else [False, True])


# -- asked again, and recorded --


def test_a_turn_that_is_asked_again_and_the_next_one_have_one_prefix(daemon: Any) -> None:
    """Though a fold had put a newer version of the first turn's note into the library before it was edited."""
    talk = DaemonTalk(daemon(notes=NOTES))
    asked = talk.user("One?", "a.md")
    talk.prompt()
    answered = talk.assistant("I see.")
    talk.write("a.md", NOTES["a.md"] + "And one line more.\n")
    talk.prompt(rebase=True)
    talk.context.message(talk.id, remove=answered)
    talk.user("One, again?", "a.md", replaces=asked)
    first = talk.prompt()
    talk.assistant("I see.")
    second = talk.ask("Two?")
    reasons = talk.events("context_folded", "message_replaced", "message_removed")
    assert all(each["seq"] < first["seq"] for each in reasons), "nothing says why the second begins otherwise"
    assert sent(second).count("And one line more.") == 1
    assert second["messages"][: len(first["messages"])] == first["messages"]


def test_a_fold_within_a_turn_names_no_text_that_was_never_stored(daemon: Any) -> None:
    """A note that was only named as changed has no text in the log; an event that names it damages the log."""
    talk = DaemonTalk(daemon(notes=NOTES))
    talk.user("One?", "a.md")
    talk.prompt()
    answer = talk.assistant("One.")
    talk.write("a.md", NOTES["a.md"] + "Another line.\n")
    talk.user("Two?")
    talk.prompt()
    talk.write("a.md", "Nothing of it is left.\n")
    talk.assistant("I go on.")
    talk.context.summary(talk.id, "In short.", up_to=answer)
    talk.prompt()
    assert talk.verified() == {"same": 3}
