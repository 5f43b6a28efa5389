"""Attacks on what is withheld or forgotten, on the prefix, and on the log after a note was forgotten.

Each of them succeeded once.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.stored_texts import unpacked

from workspaced_tools.limits import ATTACHED_CHARS_MAX

SECRET = "# Zugvogel\n\nDie Flugroute.\n\n![[storch.png]]\n"
NOTES = {
    "secret.md": SECRET,
    "open.md": "# Open\n\n" + "Everyone may see it.\n" * 20,
    "other.md": "# Other\n\nWords.\n",
}
CANARIES = ("secret", "zugvogel", "flugroute", "storch")
SETTINGS = {"provider": "anthropic", "model": "large", "context_window": 50_000, "output_reserve": 1_000}


class Talk:
    """A conversation with a daemon of its own."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.client = running.connect("runtime")
        settings = {**SETTINGS, "system": "You help.", "environment": False}
        self.id = self.client.context.start(conversation="talk", **settings)["conversation"]

    def say(self, text: str, *attached: dict[str, str], name: str | None = None) -> None:
        message = {"role": "user", "text": text, "attachments": list(attached)}
        self.client.context.message(self.id, message | ({"id": name} if name else {}))

    def answer(self) -> None:
        self.client.context.message(self.id, {"role": "assistant", "text": "I see."})

    def ask(self, text: str, *attached: dict[str, str], name: str | None = None) -> Any:
        self.say(text, *attached, name=name)
        prompt = self.client.context.assemble(self.id)
        self.answer()
        return prompt

    def write(self, path: str, text: str) -> None:
        (self.running.vault / path).write_text(text)
        self.client.call("workspaced/reconcile")

    def withhold(self, path: str = "secret.md") -> None:
        self.write(".workspacedignore", f"{path}\n")

    def look_at(self, path: str, selected: str = "") -> None:
        with self.running.connect("editor") as editor:
            editor.publish([{"type": "active_note_set", "data": {"note": path}}])
            if selected:
                chosen = {"note": path, "startLine": 3, "endLine": 3, "text": selected}
                editor.publish([{"type": "selection_changed", "data": chosen}])

    def pin(self, kind: str, **more: str) -> None:
        self.client.call("workspaced/context/pin", {"conversation": self.id, "id": kind, "kind": kind, **more})

    def types(self, *types: str) -> list[tuple[str, int]]:
        found = self.client.call("workspaced/log", {"from": 1, "limit": 1_000, "types": list(types)})["events"]
        return [(each["type"], each["seq"]) for each in found]

    def stop(self) -> Path:
        self.client.close()
        self.running.stop()
        data: Path = self.running.data
        return data

    def forget(self, path: str) -> Path:
        data = self.stop()
        done = self.running.cli("forget", path, "--data-dir", str(data), "--yes")
        assert done.returncode == 0, done.stderr
        return data


def note(path: str) -> dict[str, str]:
    return {"kind": "note", "id": path}


def told(said: Any, canaries: tuple[str, ...] = CANARIES) -> list[str]:
    text = json.dumps(said, ensure_ascii=False).casefold()
    return [canary for canary in canaries if canary in text]


def telling(data: Path, canaries: tuple[str, ...]) -> list[str]:
    """The files of a data directory that say one of these words."""
    found = []
    for path in data.rglob("*"):
        if path.is_file() and path.name != "lock":
            content = path.read_bytes()
            text = b"\n".join([str(path).encode(), content, unpacked(content)]).decode(errors="replace").casefold()
            found += [path.name] if any(canary in text for canary in canaries) else []
    return found


# -- what failed stays, though its note is withheld --


@pytest.mark.parametrize("how", ["ignored", "front matter", "level"])
def test_the_images_of_a_note_that_is_withheld_now_are_named_in_no_later_prompt(daemon: Any, how: str) -> None:
    # A part that failed stayed though the note that it names, or whose image it names, was withheld.
    talk = Talk(daemon(notes=NOTES))
    talk.look_at("secret.md")
    assert told(talk.ask("One?", {"kind": "active_note"})) == list(CANARIES)
    if how == "ignored":
        talk.withhold()
    elif how == "front matter":
        talk.write("secret.md", f"---\nworkspaced: private\n---\n{SECRET}")
    else:
        talk.client.call("workspaced/share", {"client": "runtime", "level": "names"})
    talk.look_at("open.md")
    assert told(talk.ask("Two?")) == []


def test_a_note_with_many_images_is_not_named_by_the_line_about_the_rest_of_them(daemon: Any) -> None:
    # Likewise `[Image unavailable: 268 more of secret.md]`.
    images = "".join(f"![[{number}.png]]\n" for number in range(300))
    talk = Talk(daemon(notes={**NOTES, "secret.md": images}))
    talk.look_at("secret.md")
    talk.ask("One?", {"kind": "active_note"})
    talk.withhold()
    talk.look_at("open.md")
    assert told(talk.ask("Two?")) == []


def test_a_member_of_a_folder_that_could_not_be_shown_is_not_named_once_it_is_withheld(daemon: Any) -> None:
    # Likewise `[Attachment unavailable: Zugvogel]`, the title of a note that nobody but the daemon named.
    large = "# Zugvogel\n\n" + "y" * ATTACHED_CHARS_MAX
    talk = Talk(daemon(notes={"deep/secret.md": large, "deep/open.md": "# Open\n"}))
    assert told(talk.ask("One?", {"kind": "folder", "id": "deep"})) == ["secret", "zugvogel"]
    talk.withhold()
    assert told(talk.ask("Two?")) == []


# -- a name that the daemon resolved --


@pytest.mark.parametrize("kind", ["active_note", "selected_text"])
@pytest.mark.parametrize("when", ["before", "between"])
def test_what_the_user_looks_at_is_not_named_where_it_is_withheld(daemon: Any, kind: str, when: str) -> None:
    # The daemon fills in the path of `active_note`; it said that of a withheld note too.
    talk = Talk(daemon(notes=NOTES))
    if when == "before":
        talk.withhold()
    talk.look_at("secret.md", "Die Flugroute.")
    talk.say("What is this?", {"kind": kind})
    if when == "between":
        talk.withhold()
    assert told(talk.client.context.assemble(talk.id)) == []
    talk.answer()
    talk.look_at("open.md")
    assert told(talk.ask("And now?")) == []


# -- forgetting --


def test_a_note_whose_name_is_escaped_in_a_pins_changes_is_forgotten(daemon: Any) -> None:
    # A pin's changes said `- - Q&amp;amp;A zugvogel.md (...)`, in which forgetting did not find the name.
    name = "Q&A zugvogel.md"
    pinned = {f"pinned note {number}.md": "# One of many\n" for number in range(9)}
    talk = Talk(daemon(notes={name: "# T&C Flugroute\n\nWords.\n", "open.md": "# Open\n", **pinned}))
    talk.client.publish([{"type": "note_pinned", "data": {"note": each}} for each in pinned])
    talk.pin("open-files")
    talk.look_at(name)
    talk.ask("One?")
    talk.look_at("open.md")
    assert told(talk.ask("Two?")["messages"][-1]) == ["zugvogel", "flugroute"]
    data = talk.forget(name)
    assert telling(data, ("zugvogel", "flugroute")) == []
    (talk.running.vault / name).unlink()
    talk.running.start()
    talk.client = talk.running.connect("runtime")
    assert told(talk.ask("Three?")) == []


def test_the_prompt_after_a_forgotten_one_is_no_mismatch(daemon: Any) -> None:
    # The first prompt's hashes go, since the note was a member of a folder; the manifest of the second compares
    # with them.
    talk = Talk(daemon(notes={"deep/secret.md": SECRET, "deep/open.md": "# Open\n", "other.md": "# Other\n"}))
    talk.ask("One?", {"kind": "folder", "id": "deep"}, name="m1")
    talk.client.context.message(talk.id, remove="m1")
    talk.ask("Two?", note("other.md"))
    data = talk.forget("deep/secret.md")
    done = talk.running.cli("replay", "--verify", "--json", str(data))
    outcomes = [each["outcome"] for each in map(json.loads, done.stdout.splitlines()) if "message" in each]
    assert set(outcomes) <= {"same", "notRecorded"}, outcomes


def test_a_finding_that_is_recorded_after_a_rename_is_forgotten_with_the_note(daemon: Any) -> None:
    # That a note is shown is recorded up to 30 s later, and then under the path that the note had before.
    talk = Talk(daemon(notes={"secret.md": "# Words\n", "open.md": "# Open\n"}))
    talk.look_at("secret.md")
    talk.ask("One?", note("secret.md"))
    (talk.running.vault / "secret.md").rename(talk.running.vault / "moved.md")
    with talk.running.connect("editor") as editor:
        editor.publish([{"type": "note_renamed", "data": {"from": "secret.md", "to": "moved.md"}}])
    talk.client.call("workspaced/reconcile")
    data = talk.stop()
    before = talk.running.cli("log", "export", "--data-dir", str(data), "--with-visibility").stdout
    findings = [line for line in before.splitlines() if '"note_shown"' in line and "secret.md" in line]
    assert findings, "or this test shows nothing"
    done = talk.running.cli("forget", "moved.md", "--data-dir", str(data), "--yes")
    assert done.returncode == 0, done.stderr
    assert telling(data, ("secret", "moved")) == []


# -- the prefix --


def test_a_turn_that_is_asked_again_and_the_next_one_have_one_prefix(daemon: Any) -> None:
    # A fold puts a newer version of the first turn's note into the library; then the first message is edited and
    # asked again. That prompt has no library, so the next one may not have it again.
    talk = Talk(daemon(notes=NOTES))
    talk.say("One?", note("open.md"), name="m1")
    talk.client.context.assemble(talk.id)
    talk.client.context.message(talk.id, {"role": "assistant", "text": "I see.", "id": "a1"})
    talk.write("open.md", NOTES["open.md"] + "And one line more.\n")
    assert talk.client.context.rebase(talk.id)
    talk.client.context.message(talk.id, remove="a1")
    edited = {"role": "user", "text": "One, again?", "replaces": "m1", "attachments": [note("open.md")]}
    talk.client.context.message(talk.id, edited)
    first = talk.client.context.assemble(talk.id)
    talk.answer()
    second = talk.ask("Two?")
    reasons = talk.types("context_folded", "message_replaced", "message_removed")
    assert all(seq < first["seq"] for _, seq in reasons), "nothing says why the second begins otherwise"
    assert json.dumps(second["messages"]).count("And one line more.") == 1
    assert second["messages"][: len(first["messages"])] == first["messages"]


# -- a pin's changes --


def test_the_changes_of_a_pin_say_what_stood_above(daemon: Any) -> None:
    # The block showed `a < b && c` as it is, its changes `- a &lt; b &amp;&amp; c`.
    talk = Talk(daemon(notes={"open.md": "# Open\n\n" + "Much of it stays.\n" * 30 + "a < b && c\n"}))
    talk.pin("note", path="open.md")
    assert "\na < b && c\n" in talk.ask("One?")["messages"][-1]["content"][0]["text"]
    talk.write("open.md", "# Open\n\n" + "Much of it stays.\n" * 30 + "a > b || c\n")
    said = talk.ask("Two?")["messages"][-1]["content"][0]["text"].splitlines()
    assert [line for line in said if line[0] in "+-"] == ["-a < b && c", "+a > b || c"]
