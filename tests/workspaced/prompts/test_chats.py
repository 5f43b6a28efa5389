"""`workspaced/context/export` on a real daemon: a conversation as a file for people."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.talk import Talk, user

from workspaced.prompts.chat_file import NOT_KEPT

PRIVATE = "---\nworkspaced: private\n---\n# Diary\n\nThe passphrase is xyzzy.\n"
NOTES = {"a.md": "# Alpha\n", "work/b, c | d].md": "# Odd\n", "diary.md": PRIVATE, "secret/x.md": "# Secret\n"}
CALL = {"role": "assistant", "toolCalls": [{"id": "t1", "name": "look_up", "arguments": {"q": "x"}}]}
ANSWER = {"role": "user", "toolResults": [{"id": "t1", "name": "look_up", "text": "found"}]}


@pytest.fixture(scope="module")
def world(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES, env={"WORKSPACED_DENY": "secret/"})


@pytest.fixture
def client(world: Any) -> Iterator[Any]:
    with world.connect() as made:
        yield made


def sections(text: str) -> list[str]:
    """The parts of a file; the times of messages are left out."""
    head, *parts = text.split("\n**")
    return [head, *(f"**{part}".replace(part[part.find(" · ") :].partition("\n")[0], "") for part in parts)]


def test_a_person_reads_the_words_and_the_names_of_what_came_with_them(client: Any) -> None:
    talk = Talk(client, model='the "large"\none').id
    odd = ("work/b, c | d].md", {"kind": "url", "id": "https://example.org/\n**user**", "text": "page"})
    image = {"kind": "image", "id": "small.png", "text": "data:image/png;base64,AAAA"}
    asked = user("**user** · 2026-01-01 10:00\n\nWhat is left?\n", *odd, image, id="m1")
    thought = {**CALL, "thinking": [{"text": "hm", "signature": "s"}]}
    client.context.message(talk, asked, thought, ANSWER, {"id": "a1", "role": "assistant", "text": "Two things."})
    client.context.summary(talk, "They spoke.\n", up_to="a1")
    client.context.end(talk)
    made = client.context.export(talk)
    head, *parts = sections(made["text"])
    assert head.splitlines() == [
        *("---", f'conversation: "{talk}"', 'provider: "openai"'),
        *('model: "the \\U00000022large\\U00000022\\U0000000aone"', "---"),
    ]
    assert parts == [
        "**summary**\n\nThey spoke.\n",
        "**user**\n[Context: work/b, c | d].md, https://example.org/ **user**, small.png]\n\n"
        "\\**user** · 2026-01-01 10:00\n\nWhat is left?\n",
        "**assistant**\n[Called: look_up]\n",
        "**user**\n[Answered: look_up]\n",
        "**assistant**\n\nTwo things.\n",
    ]
    assert made["withheld"] == 0 and made["clock"]


def test_what_names_a_withheld_note_is_left_out_and_counted(world: Any, client: Any) -> None:
    talk = Talk(client).id
    world.add({"turning.md": "# Turning\n"})
    selected = {"kind": "selected_text", "id": "diary.md#L1-L2", "text": "xyzzy"}
    rows = {"kind": "dataview", "id": "secret/x.md#abc", "text": "rows of it"}
    given = {"kind": "file", "id": "turning.md", "text": "its text"}
    attached = ("a.md", "diary.md", "secret/x.md", "turning.md", selected, rows, given)
    client.context.message(talk, user("Look.", *attached, id="m1"))
    client.context.assemble(talk, "m1")
    (world.vault / "turning.md").write_text("---\nworkspaced: private\n---\n# Turning\n")
    made = client.context.export(talk)
    assert made["withheld"] == 6
    assert "[Context: a.md]" in made["text"]
    for word in ("diary", "secret", "turning", "xyzzy", "rows of it", "its text"):
        assert word not in made["text"], word


def test_a_text_that_is_not_kept_is_said_in_its_place(daemon: Any) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    client = running.connect()
    talk = Talk(client).id
    client.context.message(talk, user("Gone words.", id="m1"), CALL, ANSWER)
    client.context.summary(talk, "Short.", up_to="m1")
    client.close()
    running.stop()
    for blob in (running.data / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    running.start()
    summary, said, *_ = sections(running.connect().context.export(talk)["text"])[1:]
    assert (summary, said) == (f"**summary**\n\n{NOT_KEPT}\n", f"**user**\n\n{NOT_KEPT}\n")


def test_the_command_writes_a_file_and_replaces_none_unasked(world: Any, client: Any, tmp_path: Path) -> None:
    talk = Talk(client).id
    client.context.message(talk, user("Look.", "diary.md", id="m1"))
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
