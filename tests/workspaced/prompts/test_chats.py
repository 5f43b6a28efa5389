"""`workspaced/context/export` and `import` on a real daemon: what goes out comes in again."""

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import talk as talks
from support.daemon import refusal
from support.talk import Talk

from workspaced.limits import IMPORT_CONTEXT_WINDOW, IMPORT_OUTPUT_RESERVE, MESSAGES_PER_CONVERSATION_MAX
from workspaced.prompts.transfer import FILE_NAME_BYTES_MAX, NOT_KEPT, file_name
from workspaced_tools.chats.markdown_file import read_chat
from workspaced_tools.chats.model import Chat, ReadChat, SavedAttachment

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
    made: dict[str, Any] = client.call("workspaced/context/export", {"conversation": talk})
    return made


def load(client: Any, text: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = client.call("workspaced/context/import", {"text": text, **more})
    return made


def exported(client: Any, talk: str) -> Chat:
    return read_chat(export(client, talk)["text"]).chat


def codes(made: dict[str, Any]) -> list[tuple[int, str]]:
    return [(each["line"], each["code"]) for each in made["warnings"]]


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
            {"kind": "selected_text", "id": "a.md#L1-L2", "text": "words", "before": "<", "after": ">"},
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


def content(chat: Chat) -> Any:
    """What is the same after an import: all but times and hashes."""
    from msgspec.structs import replace

    messages = tuple(replace(each, at=None, layers={}) for each in chat.messages)
    return replace(chat, conversation=None, started=None, messages=messages)


# -- out and in --


def test_what_is_exported_is_imported_as_the_same_conversation(client: Any) -> None:
    talk = full(client)
    made = export(client, talk)
    assert made["withheld"] == 0 and made["warnings"] == [] and made["clock"]
    chat = read_chat(made["text"]).chat
    assert (chat.conversation, chat.provider, chat.context_window) == (talk, "openai", 100_000)
    assert [each.id for each in chat.messages] == ["m1", "c1", "m2", "a1", "s1", "m3"]
    assert chat.messages[0].attachments[3] == SavedAttachment(
        "selected_text", "a.md#L1-L2", text="words", before="<", after=">"
    )
    again = load(client, made["text"])
    first = read_chat(made["text"]).lines[0]
    lost = [(first, "ATTACHMENT_LOST")] * 2  # the selection and the image
    assert again["conversation"] != talk and codes(again) == [(1, "CONVERSATION_TAKEN"), *lost]
    assert again["messages"] == ["m1", "c1", "m2", "a1", "s1", "m3"]
    assert content(exported(client, again["conversation"])) == content(chat)
    assert client.context.assemble(again["conversation"])["estimate"] > 0


def test_what_an_import_loses_is_a_warning_and_stands_in_the_manifest(client: Any) -> None:
    talk = start(client, environment=False)
    given = [
        {"kind": "selected_text", "id": "a.md#L1-L2", "text": "The words."},
        {"kind": "url", "id": "https://example.org/", "text": "The page."},
        {"kind": "active_note", "id": "a.md"},
    ]
    later = {"kind": "selected_text", "id": "work/plan.md#L1-L1", "text": "The newest words."}
    answer = {"role": "assistant", "text": "That."}
    client.context.message(talk, user("m1", "What?", "a.md"), {"id": "a1", **answer}, user("m2", "So?", *given))
    client.context.message(talk, {"id": "a2", **answer}, user("m3", "And?", later))
    text = export(client, talk)["text"].replace("URLs: ", "URLs: https://example.org/other, ")
    made = load(client, text)
    told = [(each["code"], each["message"].split(": ")[0]) for each in made["warnings"][1:]]
    assert told == [
        ("ATTACHMENT_LOST", "The selected_text 'a.md#L1-L2' is in no prompt"),
        ("ATTACHMENT_LOST", "The url 'https://example.org/other' is in no prompt"),
    ]
    assert all(text.split("\n")[each["line"] - 1].startswith("**user**") for each in made["warnings"][1:])
    prompt = client.context.assemble(made["conversation"])
    assert "The newest words." in json.dumps(prompt["messages"])
    library = [each for each in prompt["manifest"]["entries"] if each["why"] == "library"]
    assert [each["id"] for each in library] == ["a.md", "https://example.org/"], "the active note is a note"
    lost = [each["id"] for each in prompt["manifest"]["entries"] if each["state"] == "dropped"]
    assert lost == ["a.md#L1-L2", "https://example.org/other"]


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
    chat = read_chat(made["text"]).chat
    assert [each.id for each in chat.messages[0].attachments] == ["a.md", "found"]
    for found in (chat.messages[0].attachments[1].text, chat.messages[2].tool_results[0].text):
        assert found is not None
        assert [each["title"] for each in json.loads(found)["documents"]] == ["Plan", "Web"]
    assert "L3_TURN" not in chat.messages[0].layers


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
        [message] = read_chat(saved["text"]).chat.messages
        made.append((saved["withheld"], [each.id for each in message.attachments]))
    assert made == [(1, ["r"]), (1, ["r"])]


def test_importing_a_withheld_name_is_like_importing_one_of_nothing(client: Any) -> None:
    def warned(note: str) -> str:
        made = load(client, f"**user**\n[Context: Notes: {note}]\n\nHi.\n", **WIRE)
        return json.dumps(made["warnings"]).replace(note, "NOTE")

    assert warned("diary.md") == warned("diarx.md")
    assert warned("secret/x.md") == warned("secreu/x.md")


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
    read = read_chat(made["text"])
    first, call, result = read.chat.messages
    assert first.text == NOT_KEPT and first.attachments == (SavedAttachment("file", "f"),)
    assert call.tool_calls[0].arguments == "{}" and call.thinking == () and result.tool_results[0].text == NOT_KEPT
    assert read.chat.summary is not None and read.chat.summary.text == NOT_KEPT
    assert {each["code"] for each in made["warnings"]} == {"TEXT_NOT_KEPT"}
    assert {each["line"] for each in made["warnings"]} >= set(read.lines)


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
        "context_folded",
    ]
    again = load(client, text, conversation=talk)
    assert again == {**first, "clock": again["clock"]} and events(client, talk) == told
    assert refusal(load, client, text.replace("Thanks.", "No."), conversation=talk).code == "CONFLICT"
    assert refusal(load, client, text.replace("They spoke.", "No."), conversation=talk).code == "CONFLICT"
    assert refusal(load, client, text, conversation=talk, model="other").code == "CONFLICT"
    shorter = text[: text.rindex("**user**")]
    assert refusal(load, client, shorter, conversation=talk).code == "CONFLICT"
    assert events(client, talk) == told


def test_window_and_reserve_have_defaults_that_are_told(client: Any) -> None:
    for given, settings, warned in (
        ({}, (IMPORT_CONTEXT_WINDOW, IMPORT_OUTPUT_RESERVE), 2),
        ({"contextWindow": 100}, (100, 12), 1),
        ({"contextWindow": 1}, (1, 0), 1),
        ({"outputReserve": 9}, (IMPORT_CONTEXT_WINDOW, 9), 1),
    ):
        made = load(client, "**user**\nHi.\n", provider="p", model="m", **given)
        assert codes(made) == [(1, "SETTING_ASSUMED")] * warned
        chat = exported(client, made["conversation"])
        assert (chat.context_window, chat.output_reserve) == settings


def test_an_import_tells_of_so_many_warnings_and_how_many_more_there_are(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    line = "[Context: Notes: " + ", ".join(f"nothing {number}" for number in range(150)) + "]"
    text = "".join(f"**user**: Hello {number}.\n{line}\n\n**ai**: Yes.\n\n" for number in range(3))
    made = running.connect().context.import_chat(
        text, provider="p", model="m", context_window=10_000, output_reserve=100
    )
    assert len(made["messages"]) == 6 and len(made["warnings"]) == 201
    assert made["warnings"][-1]["code"] == "MORE_WARNINGS" and "250" in made["warnings"][-1]["message"]


@pytest.mark.parametrize(
    ("text", "settings", "says"),
    [
        ("**user**\nHi.\n", {"contextWindow": 100}, "provider, model"),
        ("**user**\nHi.\n", {**WIRE, "outputReserve": 100_000}, "outputReserve"),
        (f"---\nworkspaced-chat: 1\nprovider: {'p' * 300}\n---\n**user**\nHi.\n", {"model": "m"}, "provider"),
        ("# A note\n", WIRE, "**user**"),
    ],
)
def test_what_cannot_be_imported_says_why(client: Any, text: str, settings: dict[str, Any], says: str) -> None:
    error = refusal(load, client, text, **settings)
    assert error.code == "INVALID_ARGUMENT" and says in f"{error} {error.hint}"


def test_parts_that_do_not_fit_are_left_out_with_a_warning_and_the_rest_is_imported(client: Any) -> None:
    talk = full(client)
    text = export(client, talk)["text"].replace("\n**user** · ", "\n**assistant** · ", 1)
    made = load(client, text, conversation=name())
    assert [code for _, code in codes(made)] == ["ROLE_MISMATCH"]
    hidden = {
        "attachments": [
            {"kind": "note", "id": "a.md", "text": "not read", "before": "x"},
            {"kind": "file", "id": ""},
            {"kind": "file", "id": "f", "text": "{}", "form": "search"},
            {"kind": "tool_result", "id": "r", "text": "{}", "form": "search"},
        ]
    }
    line = "[Context: Notes: a.md | Files: f | Others: r]"
    made = load(client, f"**user**\n{line}\n<!-- workspaced: {json.dumps(hidden)} -->\n\nHi.\n", **WIRE)
    assert [code for _, code in codes(made)] == ["ATTACHMENT_INVALID"] * 3 + ["SEARCH_INVALID"] * 2
    [message] = exported(client, made["conversation"]).messages
    assert [(each.id, each.text, each.form) for each in message.attachments] == [
        ("a.md", None, "text"),
        ("f", "{}", "text"),
        ("r", "{}", "text"),
    ]
    both = {"toolResults": [{"id": "t", "name": "n", "text": "x"}], "toolCalls": [{"id": "t", "name": "n"}]}
    made = load(client, f"**user**\n[Context: Notes: a.md]\n<!-- workspaced: {json.dumps(both)} -->\n", **WIRE)
    assert [code for _, code in codes(made)] == ["ROLE_MISMATCH"] * 2
    made = load(client, "**summary**\n\nShort.\n\n**user**\n\nHi.\n", **WIRE)
    assert codes(made) == [(1, "SUMMARY_UNPLACED")]
    assert exported(client, made["conversation"]).summary is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("**user**\nHi.\n" * (MESSAGES_PER_CONVERSATION_MAX + 1), "INVALID_ARGUMENT"),
        ("".join(f"**user**\nHi {at}.\n" for at in range(MESSAGES_PER_CONVERSATION_MAX)), "BATCH_TOO_LARGE"),
        ("---\nworkspaced-chat: 1\nconversation: " + "x" * 200 + "\n---\n**user**\nHi.\n", "INVALID_ARGUMENT"),
    ],
)
def test_a_chat_that_breaks_a_limit_is_refused_whole(world: Any, client: Any, text: str, code: str) -> None:
    def kept() -> tuple[int, int]:
        return client.call("workspaced/status")["seq"], sum(
            path.is_file() for path in (world.data / "blobs").rglob("*")
        )

    before = kept()
    assert refusal(load, client, text, **WIRE).code == code
    assert kept() == before


# -- names of files --


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("../a/b\\c: [d] #e|f?", "a b c d e f.md"),
        ("con", "chat con.md"),
        ("LPT1 list", "chat LPT1 list.md"),
        ("concert", "concert.md"),
        ("\x00\n\u202e", "chat.md"),
        (".hidden", "hidden.md"),
        *((text, None) for text in ("x" * 500, "é" * 500, "😀" * 100, "a " * 200)),
    ],
)
def test_the_name_of_the_file_is_short_and_one_that_every_system_takes(title: str, expected: str | None) -> None:
    made = file_name(Chat(title=title))
    dated = file_name(Chat(title=title, started="2026-03-01T12:00:00Z"))
    assert expected in (None, made) and dated.endswith(" 2026-03-01.md")
    assert len(dated.encode()) <= FILE_NAME_BYTES_MAX and not made.removesuffix(".md").endswith((" ", "."))


# -- the command line --


def test_the_commands_write_and_read_a_file(world: Any, client: Any, tmp_path: Path) -> None:
    talk = full(client)
    client.context.message(talk, user("m4", "Look.", "diary.md"))
    file = tmp_path / "chat.md"
    inline = "--inline-images"
    assert world.cli("context", "export", talk, "-o", str(file), inline).returncode == 0
    shown = world.cli("context", "export", talk)
    assert shown.returncode == 0 and shown.stdout.encode() == file.read_bytes()
    assert "withheld: 1" in shown.stderr and "diary" not in shown.stdout
    taken = world.cli("context", "export", talk, "-o", str(file))
    assert taken.returncode == 2 and "--force" in taken.stderr
    file.write_text("")
    assert world.cli("context", "export", talk, "-o", str(file), "--force", inline).returncode == 0
    assert file.read_text() == shown.stdout
    assert world.cli("context", "export", talk, "-o", str(tmp_path), inline).returncode == 0
    made = json.loads(world.cli("context", "export", talk, "--json").stdout)
    assert (tmp_path / made["fileName"]).read_text() == made["text"] == shown.stdout

    done = world.cli("context", "import", str(file))
    assert done.returncode == 0 and "7 messages" in done.stdout and "CONVERSATION_TAKEN" in done.stderr
    target = name()
    done = world.cli("context", "import", "-", "--conversation", target, "--json", stdin=file.read_bytes())
    assert done.returncode == 0 and json.loads(done.stdout)["conversation"] == target
    assert content(exported(client, target)) == content(read(file).chat)


def test_images_are_files_beside_the_chat_and_come_back(world: Any, client: Any, tmp_path: Path) -> None:
    contents = [b"one", b"two \x00\xff", b"one"]
    kinds = ("png", "jpeg", "png")
    pairs = zip(kinds, contents, strict=True)
    uris = [f"data:image/{kind};base64,{b64encode(each).decode()}" for kind, each in pairs]
    talk = start(client)
    images = [{"kind": "image", "id": f"{at}.png", "text": uri} for at, uri in enumerate(uris)]
    client.context.message(talk, user("m1", f"In words: {uris[0]}", *images))
    file = tmp_path / "my--chat.md"
    assert world.cli("context", "export", talk, "-o", str(file)).returncode == 0
    folder = tmp_path / "my--chat.images"
    found = sorted((each.suffix, each.read_bytes()) for each in folder.iterdir())
    assert found == [(".jpg", contents[1]), (".png", b"one")]
    for each in folder.iterdir():
        assert sha256(each.read_bytes()).hexdigest().startswith(each.stem)
    text = file.read_text()
    assert f"\nIn words: {uris[0]}\n" in text and "base64" not in text[text.index("<!--") : text.index("-->")]

    target = name()
    done = world.cli("context", "import", str(file), "--conversation", target)
    assert done.returncode == 0 and "warning" not in done.stderr
    assert content(exported(client, target)) == content(exported(client, talk))

    [png] = folder.glob("*.png")
    png.write_bytes(b"another")
    taken = world.cli("context", "export", talk, "-o", str(tmp_path / "new.md"))
    assert taken.returncode == 0 and (tmp_path / "new.images").is_dir()
    file.unlink()
    taken = world.cli("context", "export", talk, "-o", str(file))
    assert taken.returncode == 2 and "--force" in taken.stderr and "--inline-images" in taken.stderr
    assert png.read_bytes() == b"another" and not file.exists()
    file.write_text(text)
    [jpg] = folder.glob("*.jpg")
    jpg.unlink()
    done = world.cli("context", "import", str(file), "--conversation", name())
    assert done.returncode == 0 and "is another image" in done.stderr and "cannot be read" in done.stderr
    assert done.stderr.count("ATTACHMENT_INVALID") == 3
    assert world.cli("context", "export", talk, "-o", str(file), "--force").returncode == 0
    assert png.read_bytes() == b"one" and jpg.read_bytes() == contents[1]
    done = world.cli("context", "import", "-", "--conversation", name(), stdin=file.read_bytes())
    assert done.returncode == 0 and done.stderr.count("cannot be read") == 2


def read(file: Path) -> ReadChat:
    return read_chat(file.read_bytes().decode())
