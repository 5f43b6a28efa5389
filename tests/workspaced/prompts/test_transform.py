"""Messages in, the same messages with context in place out: over a real daemon, as a framework would call it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import refusal
from support.transforms import NOTES, own_client
from support.transforms import text_of as spoken

Json = dict[str, Any]


@pytest.fixture(scope="module")
def running(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


class Framework:
    """Keeps messages in a provider's form, and sends all of them each time."""

    def __init__(self, client: Any, form: str = "openai") -> None:
        self.client = client
        self.form = form
        self.messages: list[Json] = [{"role": "system", "content": "You help."}] if form == "openai" else []
        self.more: Json = {"system": "You help."} if form == "anthropic" else {}

    def say(self, role: str, content: Any, **more: Any) -> None:
        self.messages.append({"role": role, "content": content, **more})

    def transform(self, **more: Any) -> Json:
        params = {"form": self.form, "messages": self.messages, **self.more, **more}
        made: Json = self.client.call("workspaced/context/transform", params)
        return made

    def ask(self, text: str, **more: Any) -> Json:
        self.say("user", text)
        return self.transform(**more)


@pytest.fixture
def client(running: Any, request: Any) -> Iterator[Any]:
    with own_client(running, request) as client:
        yield client


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_the_messages_come_back_with_context_and_only_grow(running: Any, client: Any, form: str) -> None:
    chat = Framework(client, form)
    one = chat.ask("What is Alpha?")
    asked = one["messages"][-1]
    assert asked["role"] == "user" and "Alpha is red." in spoken(asked) and "What is Alpha?" in spoken(asked)
    chat.say("assistant", "Red.")
    two = chat.ask("And Beta?", attachments=[{"kind": "note", "id": "b.md"}])
    assert two["session"] == one["session"] and two["base"] != one["base"]
    before = [spoken(each) for each in one["messages"]]
    assert [spoken(each) for each in two["messages"]][: len(before)] == before
    assert spoken(two["messages"][-2]) == "Red." and "Beta is blue." in spoken(two["messages"][-1])
    system = two["messages"][0]["content"] if form == "openai" else two["system"][0]["text"]
    assert system == "You help."
    assert running.cli("replay", "--verify", str(running.data)).returncode == 0


def test_tools_go_through_in_both_forms(client: Any) -> None:
    chat = Framework(client)
    chat.ask("Look it up.")
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "x"}'}}
    chat.say("assistant", None, tool_calls=[call])
    chat.say("tool", "Found.", tool_call_id="call_1")
    made = chat.transform()["messages"]
    assert [each["role"] for each in made] == ["system", "user", "assistant", "tool"]
    assert (made[-2]["tool_calls"], made[-1]["content"]) == ([call], "Found.")
    other = Framework(client, "anthropic")
    other.ask("Look it up.")
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "x"}},
    ]
    other.say("assistant", blocks)
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "No."}],
        "is_error": True,
    }
    other.say("user", [result])
    made = other.transform()["messages"]
    assert [each["type"] for each in made[1]["content"]] == ["thinking", "text", "tool_use"]
    assert (made[2]["content"][0]["content"], made[2]["content"][0]["is_error"]) == ("No.", True)


def test_a_framework_that_keeps_what_it_got_is_not_told_twice(client: Any) -> None:
    chat = Framework(client)
    one = chat.ask("What is Alpha?")
    chat.messages = one["messages"]  # with our context in it
    chat.say("assistant", "Red.")
    two = chat.ask("Sure?")
    assert two["session"] == one["session"]
    assert "".join(map(spoken, two["messages"])).count("Alpha is red.") == 1


def test_a_regeneration_is_the_same_prompt_and_an_edit_is_a_branch(client: Any) -> None:
    chat = Framework(client)
    first = chat.ask("What is Alpha?")
    chat.say("assistant", "Red.")
    second = chat.ask("And Beta?")
    assert chat.transform()["messages"] == second["messages"], "generated again"
    chat.messages[-1]["content"] = "And Gamma?"
    edited = chat.transform()
    assert edited["session"] != first["session"] and "Gamma" in spoken(edited["messages"][-1])
    assert edited["messages"][:3] == second["messages"][:3], "the first turn stands as it was sent"
    chat.say("assistant", "Green.")
    assert chat.ask("Sure?")["session"] == edited["session"]


def test_two_chats_that_begin_alike_part_where_they_differ(client: Any) -> None:
    chats = [Framework(client), Framework(client)]
    begun = [chat.ask("What is Alpha?") for chat in chats]
    assert begun[0]["session"] == begun[1]["session"], "so far they are one"
    for name, chat in zip(("Red.", "Blue."), chats, strict=True):
        chat.say("assistant", name)
        chat.ask(f"{name} Sure?")
    for name, chat in zip(("Red.", "Blue."), chats, strict=True):
        chat.say("assistant", "Yes.")
        made = chat.ask("Go on.")
        assert name in spoken(made["messages"][2]) and len(made["messages"]) == 6
        chat.more = {"session": made["session"]}
    assert chats[0].more != chats[1].more


def test_only_what_is_new_may_be_sent(client: Any) -> None:
    chat = Framework(client)
    one = chat.ask("What is Alpha?")
    new = [{"role": "assistant", "content": "Red."}, {"role": "user", "content": "Sure?"}]
    named = {"form": "openai", "session": one["session"], "append": new}
    two = client.call("workspaced/context/transform", {**named, "base": one["base"]})
    assert [each["role"] for each in two["messages"]] == ["system", "user", "assistant", "user"]
    assert refusal(client.call, "workspaced/context/transform", {**named, "base": one["base"]}).code == "CONFLICT"


def test_the_same_request_several_times_at_once_is_one_turn(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    wires = [running.wire() for _ in range(4)]
    params = {"form": "openai", "messages": [{"role": "user", "content": f"Question {at}."} for at in range(5)]}
    for wire in wires:
        wire.ask("workspaced/hello", {"client": {"name": "framework", "version": "1", "pid": 1}})
        wire.ask("workspaced/context/transform", {**params, "messages": params["messages"][:1]})
    for _ in range(3):
        for wire in wires:
            wire.request("workspaced/context/transform", params)
    answers = [wire.line() for wire in wires for _ in range(3)]
    assert not [each for each in answers if "error" in each], answers
    assert len({each["result"]["session"] for each in answers}) == 1
    assert len({each["result"]["base"] for each in answers}) == 1


def test_a_long_history_is_uploaded_and_goes_on_each_time(client: Any) -> None:
    line = "Long words. " * 20_000
    chat = Framework(client)
    for at in range(8):
        chat.say("user", f"{at} {line}")
        chat.say("assistant", f"{at} {line}")

    def transform() -> Json:
        named = {"messagesSha256": client.upload(json.dumps(chat.messages)), "contextWindow": 5_000_000}
        made: Json = client.call("workspaced/context/transform", {"form": "openai", **named})
        return made

    chat.say("user", "And now?")
    one = transform()
    assert len(one["messages"]) == 18 and "Alpha is red." in one["messages"][-1]["content"]
    chat.say("assistant", "Red.")
    chat.say("user", "Sure?")
    two = transform()
    assert two["session"] == one["session"] and two["messages"][:18] == one["messages"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{}", "no JSON", "[" * 5_000])
def test_an_upload_that_is_no_list_of_messages_is_refused(client: Any, text: str) -> None:
    named = {"form": "openai", "messagesSha256": client.upload(text)}
    assert refusal(client.call, "workspaced/context/transform", named).code == "INVALID_ARGUMENT"
    both = {**named, "messages": [{"role": "user", "content": "x"}]}
    assert refusal(client.call, "workspaced/context/transform", both).code == "INVALID_ARGUMENT"
    unknown = {"form": "openai", "messagesSha256": "0" * 64}
    assert refusal(client.call, "workspaced/context/transform", unknown).code == "UNKNOWN_BLOB"


def test_other_clients_conversations_are_not_found(running: Any, client: Any) -> None:
    mine = Framework(client).ask("What is Alpha?")
    with running.connect("another framework") as other:
        assert Framework(other).ask("What is Alpha?")["session"] != mine["session"]


def test_without_an_active_note_there_is_nothing_to_say(running: Any, client: Any) -> None:
    client.publish([{"type": "active_note_cleared", "data": {}}])
    made = Framework(client).ask("Hello?")
    assert spoken(made["messages"][-1]) == "Hello?"


@pytest.mark.parametrize("why", ["names", "withheld"])
def test_a_note_that_the_client_may_not_see_is_not_looked_at(daemon: Any, why: str) -> None:
    running = daemon(notes={**NOTES, "secret.md": "---\nworkspaced: private\n---\nSecret.\n"})
    with running.connect("framework") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md" if why == "names" else "secret.md"}}])
        if why == "names":
            client.call("workspaced/share", {"client": "framework", "level": "names"})
        made = Framework(client).ask("Hello?")
    assert spoken(made["messages"][-1]) == "Hello?"


@pytest.mark.parametrize(
    ("form", "messages"),
    [
        ("openai", [{"role": "system", "content": "Alone."}]),
        ("openai", [{"content": "No role."}]),
        ("openai", ["text"]),
        ("openai", [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]),
        ("openai", [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "//x/y.png"}}]}]),
        ("openai", [{"role": "user", "content": "x", "refusal": "No."}]),
        ("openai", [{"role": "tool", "content": "x"}]),
        ("anthropic", [{"role": "user", "content": [{"type": "document"}]}]),
        ("anthropic", [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]),
        ("anthropic", [{"role": "robot", "content": "x"}]),
        ("other", []),
        ("openai", [{"role": "user", "content": "x"}] * 5_001),
    ],
)
def test_what_a_conversation_cannot_hold_is_refused_and_nothing_is_recorded(
    client: Any, form: str, messages: Any
) -> None:
    before = client.call("workspaced/state")["clock"]
    error = refusal(client.call, "workspaced/context/transform", {"form": form, "messages": messages})
    assert error.code == "INVALID_ARGUMENT"
    assert client.call("workspaced/state")["clock"] == before


def test_the_same_words_over_another_note_begin_another_chat(client: Any) -> None:
    first = Framework(client).ask("Summarise this.")
    assert "Alpha is red." in spoken(first["messages"][-1])
    client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    chat = Framework(client)
    other = chat.ask("Summarise this.")
    assert other["session"] != first["session"]
    assert "Beta is blue." in spoken(other["messages"][-1]) and "Alpha" not in str(other["messages"])
    chat.say("assistant", "Blue.")
    assert chat.ask("Sure?")["session"] == other["session"]


def test_nothing_is_recorded_of_a_request_that_its_caller_gave_up(client: Any) -> None:
    before = client.call("workspaced/state")["clock"]
    params = {"form": "openai", "messages": [{"role": "user", "content": "Hello?"}]}
    late = refusal(client.call, "workspaced/context/transform", {**params, "deadline": 1_000})
    assert late.code == "TIMEOUT" and client.call("workspaced/state")["clock"] == before
    in_time = {**params, "deadline": round(1_000 * (time.time() + 60))}
    assert client.call("workspaced/context/transform", in_time)["messages"]
