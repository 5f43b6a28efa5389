"""What is withheld or forgotten is in no prompt or chat file, neither its words nor its name."""

import json
from typing import Any

import pytest
from support.daemon import refusal
from support.talk import SETTINGS, DaemonTalk, Talk, entries, files_telling, sent, telling

from workspaced_tools.limits import ATTACHED_CHARS_MAX

HEAD = "---\nworkspaced: private\n---\n"
PRIVATE = f"{HEAD}# Diary\n\nThe passphrase is xyzzy.\n"
SECRET = "# Zugvogel\n\n" + "Die Flugroute.\n" * 20
NOTES = {
    "secret.md": f"{SECRET}![[storch.png]]\n",
    "open.md": "# Open\n\n" + "Everyone may see it.\n" * 20,
    "other.md": "# Other\n\nWords.\n",
}
CANARIES = ("secret", "zugvogel", "flugroute", "falke", "storch")
FOLDER = {"kind": "folder", "id": "deep"}


def told(what: Any) -> list[str]:
    return telling(what, CANARIES)


def test_what_one_client_may_not_see_is_in_nothing_that_it_asks_for(shared: Any, client: Any) -> None:
    chat = Talk(client)
    assert "1. begin" in sent(chat.ask("Read.", "work/plan.md"))
    with shared.connect("narrow") as narrow:
        context = narrow.context
        narrow.call("workspaced/share", {"client": "narrow", "level": "names"})
        chat.user("Again.", "work/plan.md", {"kind": "file", "id": "mine", "text": "My own."})
        prompt = context.assemble(chat.id)
        assert "My own." in sent(prompt) and "work/plan.md" in sent(prompt)
        (entry,) = [each for each in entries(prompt, "work/plan.md") if each["layer"] == "L3_TURN"]
        assert (entry["state"], entry["detail"]) == ("failed", "NAMES_ONLY")
        exported = context.export(chat.id)["text"]
        for made in (prompt, context.assemble(chat.id, shape="openai"), exported):
            assert "1. begin" not in json.dumps(made)
        narrow.call("workspaced/share", {"client": "narrow", "level": "none"})
        for call in (context.assemble, context.export):
            error = refusal(call, chat.id)
            assert error.code == "SHARING_OFF" and "narrow" in error.hint
        assert refusal(context.start, **SETTINGS).code == "SHARING_OFF"
        context.start(**SETTINGS, environment=False)
    assert "1. begin" in sent(chat.prompt())


# -- withheld by the user --


@pytest.fixture
def talk(daemon: Any) -> DaemonTalk:
    """Three turns: the note whole, changed, and referred to."""
    made = DaemonTalk(daemon(notes=NOTES))
    made.ask("One?", "secret.md", "open.md")
    made.write("secret.md", NOTES["secret.md"] + "Der Falke.\n")
    made.ask("Two?", "secret.md")
    made.ask("Three?", "secret.md", "open.md")
    return made


@pytest.mark.parametrize("how", ["front matter", "ignored", "deleted rights"])
def test_a_note_that_is_withheld_is_in_no_later_prompt_not_even_by_name(talk: DaemonTalk, how: str) -> None:
    if how == "front matter":
        talk.write("secret.md", f"{HEAD}{SECRET}Der Falke.\n")
    elif how == "ignored":
        talk.write(".workspacedignore", "secret.md\n")
    else:
        talk.client.call("workspaced/share", {"client": "runtime", "level": "names"})
    prompt = talk.ask("And now?", *([] if how == "deleted rights" else ["open.md"]))
    assert told(prompt) == []
    assert told(talk.prompt(shape="anthropic", message=prompt["messageId"])) == []
    fold = talk.told("context_folded")[-1]
    assert fold["reason"] == "withheld" and not prompt["manifest"]["warnings"]
    assert ("Everyone may see it." in str(prompt)) == (how != "deleted rights")
    talk.running.kill()
    talk.start()
    assert told(talk.ask("After a crash?")) == []


@pytest.mark.parametrize(
    ("notes", "attached"),
    [
        (NOTES, {"kind": "active_note"}),
        ({"secret.md": "".join(f"![[{number}.png]]\n" for number in range(300))}, {"kind": "active_note"}),
        ({"deep/secret.md": f"# Zugvogel\n\n{'y' * ATTACHED_CHARS_MAX}", "deep/open.md": "# Open\n"}, FOLDER),
    ],
    ids=["its image", "the rest of its images", "a member of a folder"],
)
def test_what_failed_names_no_note_that_is_withheld_by_now(
    daemon: Any, notes: dict[str, str], attached: dict[str, str]
) -> None:
    talk = DaemonTalk(daemon(notes={"open.md": "# Open\n", **notes}))
    talk.look_at("secret.md" if "secret.md" in notes else "open.md")
    assert "secret" in told(talk.ask("One?", attached))
    talk.write(".workspacedignore", "secret.md\n")
    talk.look_at("open.md")
    assert told(talk.ask("Two?")) == []


@pytest.mark.parametrize("kind", ["active_note", "selected_text"])
@pytest.mark.parametrize("when", ["before", "between"])
def test_what_the_user_looks_at_is_not_named_where_it_is_withheld(daemon: Any, kind: str, when: str) -> None:
    """The daemon fills in the path."""
    talk = DaemonTalk(daemon(notes=NOTES))
    if when == "before":
        talk.write(".workspacedignore", "secret.md\n")
    talk.look_at("secret.md", "Die Flugroute.")
    talk.user("What is this?", {"kind": kind})
    if when == "between":
        talk.write(".workspacedignore", "secret.md\n")
    assert told(talk.prompt()) == []
    talk.assistant("I see.")
    talk.look_at("open.md")
    assert told(talk.ask("And now?")) == []


# -- in bodies and chat files --


@pytest.mark.parametrize("how", ["denied", "private"])
def test_a_note_that_moved_to_where_it_is_withheld_leaves_by_its_former_name(daemon: Any, how: str) -> None:
    running = daemon("--no-watch", "--deny", "secret/", notes={"old.md": "# Old\n\nxyzzy\n", "b.md": "# Beta\n"})
    talk = DaemonTalk(running)
    assert "xyzzy" in sent(talk.ask("Look.", "old.md", "b.md"))
    new = "secret/new.md" if how == "denied" else "new.md"
    (running.vault / "secret").mkdir()
    (running.vault / "old.md").rename(running.vault / new)
    talk.client.publish([{"type": "note_renamed", "data": {"from": "old.md", "to": new}}])
    if how == "private":
        (running.vault / new).write_text(PRIVATE)
    exported = talk.context.export(talk.id)
    assert exported["withheld"] == 1 and "b.md" in exported["text"]
    for made in (exported["text"], talk.ask("And now?")["messages"]):
        assert telling(made, ("xyzzy", "old.md", "new.md")) == []


def test_a_note_that_was_found_private_is_no_source_by_any_of_its_names(daemon: Any) -> None:
    running = daemon(
        "--deny", "secret/", notes={"b.md": "# Beta\n", "diary.md": "# Open\n", "secret/plan.md": "# P\n"}
    )
    talk = DaemonTalk(running)
    talk.look_at("diary.md")
    assert talk.client.tool("get_current_note")["data"]["id"] == "diary.md"
    (running.vault / "diary.md").write_text(PRIVATE)
    names = ("diary.md", "./diary.md", "/diary.md", "diary", "diary.md#L3", "secret/plan.md", "secret/plan.txt")
    shown = ("https://example.org/secret/diary.md", "b.md", "nothing.md")
    talk.user("Look.", *({"kind": "file", "id": each, "text": "xyzzy"} for each in (*names, *shown)))
    talk.prompt()
    talk.stop()
    talk.start()
    exported = talk.context.export(talk.id)
    assert f"[Context: {', '.join(shown)}]" in exported["text"]
    assert exported["withheld"] == len(names)


# -- forgotten --


def test_a_note_that_is_forgotten_is_in_no_turn_either(talk: DaemonTalk) -> None:
    data = talk.stop()
    assert len(files_telling(data, CANARIES)) > 3
    talk.forget("secret.md")
    assert files_telling(data, CANARIES) == []
    (talk.running.vault / "secret.md").unlink()
    talk.start()
    prompt = talk.ask("And now?", "other.md")
    assert told(prompt) == [] and "Words." in str(prompt)
    assert set(talk.verified()) <= {"same", "notRecorded"}
    assert files_telling(data, CANARIES) == []


def test_a_note_whose_name_is_escaped_in_a_pins_changes_is_forgotten(daemon: Any) -> None:
    name = "Q&A zugvogel.md"
    pinned = {f"pinned note {number}.md": "# One of many\n" for number in range(9)}
    talk = DaemonTalk(daemon(notes={name: "# T&C Flugroute\n\nWords.\n", "open.md": "# Open\n", **pinned}))
    talk.client.publish([{"type": "note_pinned", "data": {"note": each}} for each in pinned])
    talk.context.pin(talk.id, "open", "open-files")
    talk.look_at(name)
    talk.ask("One?")
    talk.look_at("open.md")
    assert told(talk.ask("Two?")["messages"][-1]) == ["zugvogel", "flugroute"]
    data = talk.stop()
    talk.forget(name)
    assert files_telling(data, CANARIES) == []
    (talk.running.vault / name).unlink()
    talk.start()
    assert told(talk.ask("Three?")) == []


def test_the_prompt_after_a_forgotten_one_is_no_mismatch(daemon: Any) -> None:
    """The first prompt's hashes go, since the note was in its folder; the second's manifest compares with them."""
    talk = DaemonTalk(
        daemon(notes={"deep/secret.md": SECRET, "deep/open.md": "# Open\n", "other.md": "# Other\n"})
    )
    asked = talk.user("One?", FOLDER)
    talk.prompt()
    talk.context.message(talk.id, remove=asked)
    talk.ask("Two?", "other.md")
    talk.stop()
    talk.forget("deep/secret.md")
    assert set(talk.verified()) <= {"same", "notRecorded"}


def test_a_finding_that_is_recorded_after_a_rename_is_forgotten_with_the_note(daemon: Any) -> None:
    """That a note is shown is recorded up to 30 s later, and then under the path that the note had before."""
    talk = DaemonTalk(daemon(notes={"secret.md": "# Words\n", "open.md": "# Open\n"}))
    talk.look_at("secret.md")
    talk.ask("One?", "secret.md")
    (talk.running.vault / "secret.md").rename(talk.running.vault / "moved.md")
    talk.client.publish([{"type": "note_renamed", "data": {"from": "secret.md", "to": "moved.md"}}])
    talk.client.call("workspaced/reconcile")
    data = talk.stop()
    before = talk.running.cli("log", "export", "--data-dir", str(data), "--with-visibility").stdout
    shown = [line for line in before.splitlines() if '"note_shown"' in line and "secret.md" in line]
    assert shown, "or this test shows nothing"
    talk.forget("moved.md")
    assert files_telling(data, ("secret", "moved")) == []
