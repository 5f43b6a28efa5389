"""`workspaced/context/export` and `import` on a real daemon: what goes out comes in again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import talk as talks
from support.daemon import refusal
from support.talk import Talk

from workspaced.limits import MESSAGES_PER_CONVERSATION_MAX
from workspaced.prompts import params as p
from workspaced.prompts.chat_file import ChatFile, read_chat
from workspaced.prompts.transfer import NOT_KEPT

MARK = "---\nworkspaced-chat: 1\n---\n\n"
WIRE = {"provider": "openai", "model": "any", "contextWindow": 100_000, "outputReserve": 1_000}
PRIVATE = "---\nworkspaced: private\n---\n# Diary\n\nThe passphrase is xyzzy.\n"
NOTES = {
    "a.md": "# Alpha\n\nThe first note.\n",
    "work/plan.md": "# Plan\n\n1. begin\n",
    "x/many.md": "# One\n",
    "y/many.md": "# Two\n",
    "work/b, c | d].md": "# Odd\n",
    "diary.md": PRIVATE,
    "secret/x.md": "# Secret\n",
    "old.md": "# Old\n",
}
SEARCH = {
    "query": "plans",
    "documents": [
        {"title": "Plan", "source": "work/plan.md", "text": "begin"},
        {"title": "Diary", "source": "journal.md", "text": "xyzzy"},
        {"title": "Web", "source": "https://example.org/secret/page.md", "text": "page"},
    ],
}
_count = 0


@pytest.fixture(scope="module")
def world(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES, env={"WORKSPACED_DENY": "secret/"})


@pytest.fixture
def client(world: Any) -> Iterator[Any]:
    with world.connect() as made:
        yield made


def name() -> str:
    global _count
    _count += 1
    return f"chat-{_count}"


def start(client: Any, **settings: Any) -> str:
    return Talk(client, **settings).id


def user(name: str, text: str, *attached: Any) -> dict[str, Any]:
    return talks.user(text, *attached, id=name)


def events(client: Any, talk: str) -> list[dict[str, Any]]:
    every = client.call("workspaced/log", {"limit": 10_000})["events"]
    return [each for each in every if each["data"].get("conversation") == talk]


def export(client: Any, talk: str) -> dict[str, Any]:
    made: dict[str, Any] = client.context.export(talk)
    return made


def load(client: Any, text: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = client.call("workspaced/context/import", {"text": text, **more})
    return made


def exported(client: Any, talk: str) -> ChatFile:
    return read_chat(export(client, talk)["text"])


def comment(hidden: dict[str, Any]) -> str:
    """A user's message with this comment."""
    return f"**user**\n<!-- workspaced: {json.dumps(hidden)} -->\n\nHi.\n"


def full(client: Any) -> str:
    """A conversation with everything that a message can hold."""
    talk = start(client)
    client.context.message(
        talk,
        user(
            "m1",
            "**user** · 2026-01-01 10:00\n\nWhat is left?\n",
            "work/plan.md",
            "work/b, c | d].md",
            {"kind": "active_note", "id": "a.md", "title": "Alpha"},
            {"kind": "selected_text", "id": "a.md#L1-L2", "text": "words"},
            {"kind": "url", "id": "https://example.org/", "text": "page --> end"},
            {"kind": "folder", "id": "work"},
            {"kind": "tag", "id": "todo"},
            {"kind": "image", "id": "small.png", "text": "data:image/png;base64,AAAA"},
        ),
        {
            "id": "c1",
            "role": "assistant",
            "text": "",
            "toolCalls": [{"id": "t1", "name": "look_up", "arguments": {"q": "x"}}],
            "thinking": [{"text": "hm", "signature": "s"}, {"redacted": "b3BhcXVl"}],
        },
        {
            "id": "m2",
            "role": "user",
            "toolResults": [{"id": "t1", "name": "look_up", "text": "no", "isError": True}],
        },
        {"id": "a1", "role": "assistant", "text": "Two things."},
        {"id": "s1", "role": "system", "text": "Be brief."},
        user("m3", "Thanks."),
    )
    client.context.assemble(talk, "m1")
    client.context.summary(talk, "They spoke.\n", up_to="a1")
    return talk


def content(chat: ChatFile) -> Any:
    """What is the same after an import: all but the id."""
    return chat._replace(fields={**chat.fields, "conversation": None})


# -- out and in --


def test_what_is_exported_is_imported_as_the_same_conversation(client: Any) -> None:
    talk = full(client)
    made = export(client, talk)
    assert made["withheld"] == 0 and made["clock"]
    chat = read_chat(made["text"])
    assert chat.fields == {"conversation": talk, **WIRE}
    assert [each.id for each in chat.messages] == ["m1", "c1", "m2", "a1", "s1", "m3"]
    assert chat.messages[0].attachments[3] == p.Attached("selected_text", "a.md#L1-L2", "words")
    assert chat.messages[0].attachments[-1] == p.Attached("image", "small.png"), "its bytes stay out"
    again = load(client, made["text"], conversation=name())
    assert again["messages"] == ["m1", "c1", "m2", "a1", "s1", "m3"]
    assert content(exported(client, again["conversation"])) == content(chat)
    assert client.context.assemble(again["conversation"])["estimate"] > 0


def test_prompts_of_an_imported_chat_repeat_its_words_and_read_what_is_not_answered_yet(client: Any) -> None:
    talk = start(client, environment=False)
    later = {"kind": "selected_text", "id": "work/plan.md#L1-L1", "text": "The newest words."}
    answer = {"role": "assistant", "text": "That."}
    client.context.message(talk, user("m1", "What?", "a.md"), {"id": "a1", **answer}, user("m2", "So?", later))
    made = client.context.import_chat(export(client, talk)["text"], conversation=name())
    assert made["lost"] == ["a.md"]
    prompt = client.context.assemble(made["conversation"])
    shown = json.dumps(prompt["messages"])
    assert "What?" in shown and "The newest words." in shown and "The first note." not in shown
    assert [each["id"] for each in prompt["manifest"]["entries"] if each["state"] == "dropped"] == ["a.md"]


# -- what is withheld --


def test_what_names_a_withheld_note_is_left_out_and_counted(world: Any, client: Any) -> None:
    talk = start(client)
    world.add({"turning.md": "# Turning\n", "journal.md": "# Open\n"})
    client.publish([{"type": "active_note_set", "data": {"note": "journal.md"}}])
    assert client.tool("get_current_note")["data"]["id"] == "journal.md"
    (world.vault / "journal.md").write_text(PRIVATE)
    client.call("workspaced/reconcile")
    client.context.message(
        talk,
        user(
            "m1",
            "Look.",
            "a.md",
            "diary.md",
            "secret/x.md",
            "turning.md",
            {"kind": "selected_text", "id": "diary.md#L1-L2", "text": "xyzzy"},
            {"kind": "dataview", "id": "secret/x.md#abc", "text": "rows of it"},
            {"kind": "file", "id": "turning.md", "text": "its text"},
            {"kind": "tool_result", "id": "found", "search": SEARCH},
        ),
        {"role": "assistant", "toolCalls": [{"id": "t1", "name": "search"}]},
        {"role": "user", "toolResults": [{"id": "t1", "name": "search", "search": SEARCH}]},
    )
    client.context.assemble(talk, "m1")
    (world.vault / "turning.md").write_text("---\nworkspaced: private\n---\n# Turning\n")
    made = export(client, talk)
    assert made["withheld"] == 8
    for word in ('diary.md"', "secret", "turning", "xyzzy", "rows of it", "its text"):
        assert word not in made["text"].replace("https://example.org/secret/page.md", ""), word
    chat = read_chat(made["text"])
    assert [each.id for each in chat.messages[0].attachments] == ["a.md", "found"]
    for found in (chat.messages[0].attachments[1].search, chat.messages[2].tool_results[0].search):
        assert found is not None and [each.title for each in found.documents] == ["Plan", "Web"]


def test_what_a_runtime_gave_of_a_note_that_never_was_shown_stays_its_own(daemon: Any) -> None:
    """Leaving it out would tell that there is a private note of a name that somebody guessed."""
    made = []
    for notes in ({"diary.md": PRIVATE}, {}):
        running = daemon(notes={"a.md": "# A\n", **notes})
        client = running.connect()
        talk = start(client)
        search = dict(SEARCH, documents=[{"title": "T", "source": "diary.md", "text": "guessed"}])
        given = {"kind": "tool_result", "id": "r", "search": search}
        client.context.message(talk, user("m1", "Look.", "diary.md", given))
        saved = export(client, talk)
        [message] = read_chat(saved["text"]).messages
        made.append((saved["withheld"], [each.id for each in message.attachments]))
    assert made == [(1, ["r"]), (1, ["r"])]


# -- what is not kept --


def test_a_text_that_is_not_kept_is_said_in_its_place(daemon: Any) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    client = running.connect()
    talk = start(client)
    client.context.message(
        talk,
        user("m1", "Gone words.", {"kind": "file", "id": "f", "text": "given"}),
        {
            "id": "c1",
            "role": "assistant",
            "toolCalls": [{"id": "t1", "name": "n", "arguments": {"a": 1}}],
            "thinking": [{"text": "hm"}],
        },
        {"id": "m2", "role": "user", "toolResults": [{"id": "t1", "name": "n", "text": "found"}]},
    )
    client.context.summary(talk, "Short.", up_to="m1")
    client.close()
    running.stop()
    for blob in (running.data / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    running.start()
    made = export(running.connect(), talk)
    chat = read_chat(made["text"])
    first, call, result = chat.messages
    assert first.text == NOT_KEPT and first.attachments == [p.Attached("file", "f", NOT_KEPT)]
    assert call.tool_calls[0].arguments == "{}" and call.thinking == [] and result.tool_results[0].text == NOT_KEPT
    assert chat.summary is not None and chat.summary.text == NOT_KEPT


# -- importing --


def test_the_same_import_is_recorded_once_and_another_one_of_its_id_is_refused(client: Any) -> None:
    text = export(client, full(client))["text"]
    talk = name()
    first = load(client, text, conversation=talk)
    told = events(client, talk)
    assert first["conversation"] == talk and [each["type"] for each in told] == [
        "conversation_started",
        *["message_added"] * 6,
        "summary_set",
    ]
    again = load(client, text, conversation=talk)
    assert again == {**first, "clock": again["clock"]} and events(client, talk) == told
    assert refusal(load, client, text.replace("Thanks.", "No."), conversation=talk).code == "CONFLICT"
    assert refusal(load, client, text.replace("They spoke.", "No."), conversation=talk).code == "CONFLICT"
    assert refusal(load, client, text, conversation=talk, model="other").code == "CONFLICT"
    shorter = text[: text.rindex("**user**")]
    assert refusal(load, client, shorter, conversation=talk).code == "CONFLICT"
    assert events(client, talk) == told


@pytest.mark.parametrize(
    ("text", "settings", "says"),
    [
        (f"{MARK}**user**\nHi.\n", {"contextWindow": 100}, "provider, model"),
        (f"{MARK}**user**\nHi.\n", {**WIRE, "outputReserve": 100_000}, "outputReserve"),
        (
            f"---\nworkspaced-chat: 1\nprovider: {'p' * 300}\n---\n**user**\nHi.\n",
            {**WIRE, "provider": None},
            "pr",
        ),
        ("# A note\n", WIRE, "workspaced-chat: 1"),
        (MARK + comment({"attachments": [{"kind": "file", "id": ""}]}), WIRE, "'line-5'"),
        (
            MARK + comment({"attachments": [{"kind": "note", "id": "a.md", "text": "x"}]}),
            WIRE,
            "is read from the vault",
        ),
        (MARK + comment({"toolCalls": [{"id": "t", "name": "n"}]}), WIRE, "assistant's"),
        (MARK + comment({"attachments": [{"kind": "file", "id": "f", "textSha256": "0" * 64}]}), WIRE, "uploaded"),
        (f'{MARK}**summary**\n<!-- workspaced: {{"upTo":"m9"}} -->\n\nShort.\n', WIRE, "'m9'"),
        (MARK + "**user**\nHi.\n" * (MESSAGES_PER_CONVERSATION_MAX + 1), WIRE, "at most"),
        ("---\nworkspaced-chat: 1\nconversation: " + "x" * 200 + "\n---\n**user**\nHi.\n", WIRE, "128"),
    ],
)
def test_what_cannot_be_imported_says_why(client: Any, text: str, settings: dict[str, Any], says: str) -> None:
    named = {} if "conversation:" in text else {"conversation": name()}
    given = {key: value for key, value in settings.items() if value is not None}
    before = client.call("workspaced/status")["seq"]
    error = refusal(load, client, text, **given, **named)
    assert error.code == "INVALID_ARGUMENT" and says in f"{error} {error.hint}"
    assert client.call("workspaced/status")["seq"] == before


def test_a_chat_too_long_for_one_batch_is_refused_whole(client: Any) -> None:
    text = MARK + "".join(f"**user**\nHi {at}.\n" for at in range(MESSAGES_PER_CONVERSATION_MAX))
    talk = name()
    assert refusal(load, client, text, conversation=talk, **WIRE).code == "BATCH_TOO_LARGE"
    assert events(client, talk) == []


# -- the command line --


def test_the_commands_write_and_read_a_file(world: Any, client: Any, tmp_path: Path) -> None:
    talk = full(client)
    client.context.message(talk, user("m4", "Look.", "diary.md"))
    file = tmp_path / "chat.md"
    assert world.cli("context", "export", talk, "-o", str(file)).returncode == 0
    shown = world.cli("context", "export", talk)
    assert shown.returncode == 0 and shown.stdout.encode() == file.read_bytes()
    assert "withheld: 1" in shown.stderr and "diary" not in shown.stdout
    taken = world.cli("context", "export", talk, "-o", str(file))
    assert taken.returncode == 2 and "--force" in taken.stderr
    file.write_text("")
    assert world.cli("context", "export", talk, "-o", str(file), "--force").returncode == 0
    assert file.read_text() == shown.stdout
    made = json.loads(world.cli("context", "export", talk, "--json").stdout)
    assert made["text"] == shown.stdout

    other = world.cli("context", "import", str(file))
    assert other.returncode == 1 and "another conversation" in other.stderr
    target = name()
    done = world.cli("context", "import", "-", "--conversation", target, "--json", stdin=file.read_bytes())
    assert done.returncode == 0 and json.loads(done.stdout)["conversation"] == target
    assert content(exported(client, target)) == content(read_chat(file.read_text()))
