"""`workspaced/context/*` on a real daemon: conversations told, prompts made, and all of it in the log."""

import shutil
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.daemon import refusal, write_vault
from support.talk import SETTINGS, DaemonTalk, Talk, sent

from workspaced.cli.daemon.schema import all_schemas
from workspaced.errors import RemoteError
from workspaced.limits import ATTACHMENTS_PER_MESSAGE_MAX, MESSAGES_PER_REQUEST_MAX, PINS_PER_CONVERSATION_MAX

SCHEMAS = all_schemas()


@pytest.fixture
def chat(client: Any) -> Talk:
    return Talk(client)


# -- a conversation --


def test_a_crash_loses_nothing_that_was_answered(daemon: Any) -> None:
    chat = DaemonTalk(daemon())
    chat.user("What is A?", "a.md", id="m1")
    before = chat.prompt()
    chat.running.kill()
    chat.start()
    after = chat.prompt()
    assert (after["seq"], after["messages"], after["hashes"]) == tuple(
        before[name] for name in ("seq", "messages", "hashes")
    )
    assert chat.user("What is A?", "a.md", id="m1") == "m1"
    assert len(chat.events("message_added")) == len(chat.events("prompt_assembled")) == 1


def test_after_a_crash_and_without_the_vault_every_prompt_is_made_again(daemon: Any) -> None:
    chat = DaemonTalk(daemon())
    chat.context.pin(chat.id, "plan", "note", path="work/plan.md")
    chat.ask("What is A?", "a.md", "nowhere.md")
    chat.write("a.md", "# A\n\nAnother text.\n")
    chat.look_at("b.md")
    chat.ask("And now?", {"kind": "active_note"})
    (chat.running.vault / "work/plan.md").unlink()
    chat.ask("Which plan?", "a.md", rebase=True)
    chat.running.kill()
    shutil.rmtree(chat.running.vault)
    assert chat.verified() == {"same": 3}


def test_a_pin_is_in_the_prompt_until_it_is_unpinned_and_told_again_it_is_no_event(chat: Talk) -> None:
    chat.user("Hello.")
    chat.context.pin(chat.id, "all", "folder", folder="")
    assert "work/plan.md" in sent(chat.prompt())
    for _ in range(2):
        chat.context.pin(chat.id, "rules", "text", text="Be brief.")
        chat.context.unpin(chat.id, "all")
    prompt = sent(chat.prompt())
    assert "Be brief." in prompt and "work/plan.md" not in prompt
    assert len(chat.events("context_pinned", "context_unpinned")) == 3


def test_removing_replacing_and_summarising_change_the_history(chat: Talk) -> None:
    one, two = chat.user("One."), chat.assistant("Two.")
    chat.user("Three.")
    assert [each["content"][0]["text"] for each in chat.prompt()["messages"][1:]] == ["One.", "Two.", "Three."]
    uno = {"role": "user", "text": "Uno.", "replaces": one}
    chat.client.context.message(chat.id, uno, remove=two, following=True)
    due = chat.assistant("Due.")
    chat.user("Tre.")
    assert [each["content"][0]["text"] for each in chat.prompt()["messages"][1:]] == ["Uno.", "Due.", "Tre."]
    chat.client.context.summary(chat.id, "They counted.", up_to=due)
    prompt = sent(chat.prompt())
    assert "They counted." in prompt and "Uno." not in prompt


def test_messages_behind_a_removed_one_may_come_again_with_another_text(chat: Talk) -> None:
    for name, text in (("m1", "One."), ("m2", "Two."), ("m3", "Three.")):
        chat.user(text, id=name)
    drei = {"role": "user", "id": "m3", "text": "Drei."}
    chat.context.message(chat.id, drei, remove="m2", following=True)
    told = [(each["type"], each["data"]["message"]) for each in chat.events("message_added", "message_removed")]
    added = [("message_added", name) for name in ("m1", "m2", "m3")]
    assert told == [*added, ("message_removed", "m2"), ("message_added", "m3")]
    prompt = sent(chat.prompt())
    assert "One." in prompt and "Drei." in prompt and "Two." not in prompt and "Three." not in prompt


def test_settings_told_again_are_no_event_and_others_are(chat: Talk) -> None:
    context = chat.client.context
    context.start(conversation=chat.id, **SETTINGS)
    assert len(chat.events("conversation_started")) == 1
    context.start(conversation=chat.id, **{**SETTINGS, "provider": "anthropic"}, tools=[{"name": "t"}])
    told = chat.told("conversation_started")
    now = {**SETTINGS, "provider": "anthropic", "tools": [{"name": "t"}]}
    for changed in ({"memory": "Likes tea."}, {"promotion": "each_turn"}):
        now |= changed
        for _ in range(2):
            context.start(conversation=chat.id, **now)
    assert len(chat.events("conversation_started")) == 4
    assert len(told) == 2 and "toolsSha256" in told[1]
    chat.user("One.")
    assert chat.prompt()["manifest"]["toolTokens"] > 0


def test_a_conversation_stays_with_its_vault_whichever_is_looked_at(daemon: Any) -> None:
    running = daemon(start=False)
    other = write_vault(running.root / "other", {"a.md": "# Other\n\nAnother note.\n"})
    running.flags = ("--vault", str(other))
    running.start()
    chat = Talk(running.connect("agent"))
    chat.user("Here?")
    assert "another vault" not in sent(chat.prompt())
    chat.assistant("Yes.")
    chat.client.publish([{"type": "vault_switched", "data": {"vaultId": "other"}}])
    chat.user("What is A?", "a.md")
    told = sent(chat.prompt()).replace('\\"', '"')
    assert "The first note" in told
    assert 'about the vault "vault"; the user now has the vault "other" open' in told
    elsewhere = Talk(chat.client)
    elsewhere.user("What is A?", "a.md")
    assert "Another note." in sent(elsewhere.prompt()) and "another vault" not in sent(elsewhere.prompt())
    back = Talk(chat.client, vault="vault", environment=True)
    back.user("What is A?", "a.md")
    told = sent(back.prompt()).replace('\\"', '"')
    assert 'works in the vault "vault"' in told and "The first note" in told and "another vault" in told
    back.client.context.start(conversation=back.id, **{**SETTINGS, "model": "other"}, vault="vault")
    for vault, hint in (("other", "Leave `vault` out"), ("nowhere", "other, vault")):
        error = refusal(back.client.context.start, conversation=back.id, **SETTINGS, vault=vault)
        assert error.code == "INVALID_ARGUMENT" and all(each in error.hint for each in hint.split(", "))
    error = refusal(back.client.context.start, conversation="new", **SETTINGS, vault="nowhere")
    assert error.code == "INVALID_ARGUMENT" and "other" in error.hint
    assert refusal(back.client.context.assemble, "new").code == "UNKNOWN_CONVERSATION"
    assert {event["vault"] for event in back.events("conversation_started", "message_added")} == {"vault"}
    assert {event["vault"] for event in chat.events("message_added", "prompt_assembled")} == {"vault"}
    chat.assistant("It is the first.")
    chat.client.publish([{"type": "vault_switched", "data": {"vaultId": "vault"}}])
    chat.user("And now?")
    told = sent(chat.prompt())
    assert "[The vault of this conversation is the open one again.]" in told and "No longer pinned" not in told


# -- asked again, and at once --


def test_a_prompt_asked_for_again_is_the_same_and_recorded_once(chat: Talk) -> None:
    chat.user("What is A?", "a.md", {"kind": "active_note", "id": "b.md"})
    first, second = chat.prompt(), chat.prompt()
    assert first["seq"] == second["seq"] and first["messages"] == second["messages"]
    assert len(chat.events("prompt_assembled")) == 1
    bare = chat.prompt(layers=False)
    assert bare["messages"] == first["messages"] and {each["text"] for each in bare["layers"]} == {""}


def test_a_message_told_again_is_there_once_and_another_of_its_id_is_a_conflict(chat: Talk) -> None:
    chat.user("One.", "a.md", id="m1")
    chat.user("One.", "a.md", id="m1")
    assert len(chat.events("message_added")) == 1
    assert refusal(chat.user, "Other.", "a.md", id="m1").code == "CONFLICT"
    pair = [{"role": "user", "id": "m2", "text": "Two."}, {"role": "user", "id": "m2", "text": "Zwei."}]
    assert refusal(chat.client.context.message, chat.id, *pair).code == "CONFLICT"
    assert len(chat.events("message_added")) == 1, "nothing of it was recorded"
    chat.user("Other.", "a.md", replaces="m1")
    chat.user("Other.", "a.md", replaces="m1")
    assert len(chat.events("message_replaced")) == 1


# -- what is counted --


TOO_MUCH: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "file": ({}, [{"kind": "file", "id": "huge.txt", "text": "word " * 2_000}], "selected_text"),
    "tools": ({"tools": [{"name": "look", "description": "word " * 2_000}]}, [], "fewer tools"),
    "section": ({"system": "word " * 2_000}, [], "shorten"),
    "pin": ({}, [], "npin"),
    "summary": ({}, [], "'summary'"),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_the_error_of_a_prompt_without_room_names_the_largest_thing_and_what_helps(client: Any, kind: str) -> None:
    settings, attached, remedy = TOO_MUCH[kind]
    chat = Talk(client, context_window=1_000, output_reserve=100, **settings)
    if kind == "pin":
        chat.context.pin(chat.id, "p", "text", text="word " * 2_000)
    first = chat.user("One.", *attached)
    if kind == "summary":
        chat.user("Two.")
        chat.context.summary(chat.id, "word " * 2_000, up_to=first)
    error = refusal(chat.prompt)
    assert error.code == "BUDGET_EXCEEDED" and error.details["limit"] == 900 and remedy in str(error)
    largest = error.details["largest"][0]
    assert largest["tokens"] > 900 and repr(largest["id"]) in error.message
    assert chat.events("prompt_assembled") == []


# -- the library --


# -- bad input --

ACTIVE = {"kind": "active_note"}
DIGEST = "0" * 64
UNKNOWN: list[tuple[str, dict[str, Any], str]] = [
    *((method, {"conversation": "nobody", **more}, "UNKNOWN_CONVERSATION") for method, more in (
        ("message", {"messages": [{"role": "user"}]}),
        ("assemble", {}),
        ("unpin", {"id": "p"}),
        ("end", {}),
        ("export", {}),
    )),
    ("message", {"messages": [{"role": "user", "replaces": "nothing"}]}, "UNKNOWN_MESSAGE"),
    ("message", {"remove": {"message": "nothing"}}, "UNKNOWN_MESSAGE"),
    ("message", {"messages": [{"role": "user", "textSha256": DIGEST}]}, "UNKNOWN_BLOB"),
    ("assemble", {"message": "nothing"}, "UNKNOWN_MESSAGE"),
    ("summary", {"text": "?", "upTo": "nothing"}, "UNKNOWN_MESSAGE"),
    ("usage", {"report": {}, "shape": "openai", "message": "m1"}, "UNKNOWN_MESSAGE"),
    ("pin", {"id": "p", "kind": "note", "path": "../a.md"}, "OUTSIDE_VAULT"),
    ("pin", {"id": "p", "kind": "folder", "folder": "/etc"}, "OUTSIDE_VAULT"),
]  # fmt: skip
INVALID: list[tuple[str, dict[str, Any]]] = [
    ("start", {"provider": "p", "model": "m", "contextWindow": 10, "outputReserve": 10}),
    ("start", {"provider": "", "model": "m", "contextWindow": 10, "outputReserve": 1}),
    ("start", {"provider": "p", "model": "m", "contextWindow": 10, "outputReserve": 1, "agent": "nobody"}),
    ("message", {"messages": []}),
    ("message", {"messages": [{"role": "system"}]}),
    ("message", {"messages": [{"role": "user"}] * (MESSAGES_PER_REQUEST_MAX + 1)}),
    ("message", {"messages": [{"role": "assistant", "attachments": [ACTIVE]}]}),
    ("pin", {"id": "p", "kind": "clock"}),
    ("pin", {"id": "p", "kind": "text"}),
    ("pin", {"id": "p", "kind": "workspace", "path": "a.md"}),
    ("pin", {"id": "p", "kind": "note", "path": ".a.md"}),
    ("pin", {"id": "p", "kind": "folder", "folder": "a//b"}),
    ("assemble", {"pipeline": "poem"}),
    ("assemble", {"cachedContent": "cachedContents/1"}),
    ("usage", {"report": 1}),
]
CONTRADICTING: list[dict[str, Any]] = [
    {"colour": "red"},
    {"id": ""},
    {"id": "x", "replaces": "m1"},
    {"text": "a", "textSha256": DIGEST},
    {"toolCalls": [{"id": "1", "name": "t"}]},
    {"attachments": [ACTIVE], "toolResults": [{"id": "1", "name": "t", "text": ""}]},
    {"attachments": [ACTIVE] * (ATTACHMENTS_PER_MESSAGE_MAX + 1)},
    *({"attachments": [each]} for each in (
        {"kind": "note"},
        {"kind": "book", "id": "x"},
        {"kind": "note", "id": "a.md", "text": "?"},
        {"kind": "note", "id": "a.md", "textSha256": DIGEST},
        {"kind": "file", "id": "f", "text": "a", "textSha256": DIGEST},
        {"kind": "url", "id": "https://x.test", "search": {"query": "it"}},
        {"kind": "tool_result", "id": "s"},
    )),
    *({"toolResults": [{"id": "1", "name": "t", **each}]} for each in (
        {},
        {"text": "a", "textSha256": DIGEST},
        {"images": [{}]},
        {"images": [{"text": "picture.png"}]},
        {"images": [{"text": "data:image/png;base64,iVBO", "textSha256": DIGEST}]},
    )),
    *({"role": "assistant", "thinking": [each]} for each in (
        {},
        {"text": "a", "redacted": "b"},
        {"redacted": "b", "signature": "c"},
        {"redacted": ""},
        {"signature": "c"},
    )),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        *UNKNOWN,
        *((method, params, "INVALID_ARGUMENT") for method, params in INVALID),
        *(("message", {"messages": [{"role": "user", **each}]}, "INVALID_ARGUMENT") for each in CONTRADICTING),
    ],
)
def test_what_is_wrong_has_its_code_and_changes_nothing(
    chat: Talk, method: str, params: dict[str, Any], code: str
) -> None:
    chat.user("One.", id="m1")
    chat.assistant("Two.", id="m2")
    count = len(chat.events())
    given = params if method == "start" else {"conversation": chat.id, **params}
    with pytest.raises(RemoteError) as raised:
        chat.client.call(f"workspaced/context/{method}", given)
    assert raised.value.code == code and raised.value.hint
    assert len(chat.events()) == count


def test_pins_are_bounded(chat: Talk) -> None:
    for number in range(PINS_PER_CONVERSATION_MAX):
        chat.client.context.pin(chat.id, f"p{number}", "workspace")
    chat.client.context.pin(chat.id, "p0", "open-files")
    assert refusal(chat.client.context.pin, chat.id, "one more", "workspace").code == "INVALID_ARGUMENT"


def test_a_prompt_too_long_to_be_answered_three_times_over_comes_without_its_layers(client: Any) -> None:
    chat = Talk(client, context_window=2_000_000)
    for at in range(8):
        chat.user("Read.", {"kind": "file", "id": f"{at}", "text": "heavy " * 60_000})
    assert refusal(chat.prompt).code == "INVALID_ARGUMENT"
    prompt = chat.prompt(layers=False)
    assert sent(prompt).count("heavy ") >= 480_000 and len(chat.events("prompt_assembled")) == 1


# -- the contract --


def test_what_is_answered_and_recorded_fits_its_schema(chat: Talk) -> None:
    context = chat.client.context
    context.pin(chat.id, "p", "text", text="Pinned.")
    chat.user("One.", "a.md", {"kind": "url", "id": "https://x.test/", "text": "T.", "title": "X"})
    Draft202012Validator(SCHEMAS["prompt"]).validate(chat.prompt())
    context.usage(chat.id, {"prompt_tokens": 5, "completion_tokens": 1}, shape="openai")
    chat.assistant("Two.", toolCalls=[{"id": "t", "name": "t"}], thinking=[{"text": "Hm."}])
    chat.say(role="user", toolResults=[{"id": "t", "name": "t", "text": "r"}], id="last")
    Draft202012Validator(SCHEMAS["prompt"]).validate(chat.prompt())
    context.assemble(chat.id, rebase=True)
    context.summary(chat.id, "Short.", up_to="last")
    context.unpin(chat.id, "p")
    context.message(chat.id, remove="last")
    context.end(chat.id)
    seen = set()
    for event in chat.events():
        Draft202012Validator(SCHEMAS[f"events/{event['type']}"]).validate(event)
        seen.add(event["type"])
    assert {"message_added", "artifact_recorded", "prompt_assembled", "summary_set", "message_removed"} <= seen


def test_the_log_holds_no_text_of_a_conversation(chat: Talk, shared: Any) -> None:
    chat.user("Quokka.", {"kind": "file", "id": "f", "text": "Wombat."})
    chat.prompt()
    lines = b"".join(path.read_bytes() for path in (shared.data / "log").glob("*.wlog"))
    assert b"Quokka" not in lines and b"Wombat" not in lines
