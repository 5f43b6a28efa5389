"""Transcripts against forgetting, withholding, bundles and crashes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stored_texts import unpacked

NOTES = {
    "secret.md": "# Zugvogel\n\n" + "Die Flugroute.\n" * 20,
    "open.md": "# Open\n\n" + "Everyone may see it.\n" * 20,
    "other.md": "# Other\n\nWords.\n",
}
CANARIES = ("secret.md", "zugvogel", "flugroute", "falke")
SETTINGS = {"provider": "anthropic", "model": "large", "context_window": 50_000, "output_reserve": 1_000}


class Talk:
    """A conversation with a daemon of its own, asked turn by turn."""

    def __init__(self, running: Any, **more: Any) -> None:
        self.running = running
        self.client = running.connect("runtime")
        settings = {**SETTINGS, "system": "You help.", "environment": False, **more}
        self.id = self.client.context.start(conversation="talk", **settings)["conversation"]

    def ask(self, text: str, *notes: str, client: Any = None) -> dict[str, Any]:
        context = (client or self.client).context
        attachments = [{"kind": "note", "id": note} for note in notes]
        context.message(self.id, {"role": "user", "text": text, "attachments": attachments})
        prompt: dict[str, Any] = context.assemble(self.id)
        context.message(self.id, {"role": "assistant", "text": "I see."})
        return prompt

    def write(self, path: str, text: str) -> None:
        (self.running.vault / path).write_text(text)
        self.client.call("workspaced/reconcile")

    def begin(self) -> None:
        """Three turns: the note whole, changed, and referred to."""
        self.ask("One?", "secret.md", "open.md")
        self.write("secret.md", NOTES["secret.md"] + "Der Falke.\n")
        self.ask("Two?", "secret.md")
        self.ask("Three?", "secret.md", "open.md")

    def restart(self) -> None:
        self.running.kill()
        self.running.start()
        self.client = self.running.connect("runtime")

    def folds(self) -> int:
        """The number of compactions in the log."""
        wanted = {"from": 1, "limit": 1_000, "types": ["context_folded"]}
        return len(self.client.call("workspaced/log", wanted)["events"])

    def verified(self, source: Path) -> dict[str, int]:
        """How many prompts of a log are the same when they are made again, and how many are not recorded."""
        done = self.running.cli("replay", "--verify", "--json", str(source))
        outcomes = [json.loads(line) for line in done.stdout.splitlines()]
        prompts = [each["outcome"] for each in outcomes if "message" in each]
        return {name: prompts.count(name) for name in set(prompts)}


@pytest.fixture
def talk(daemon: Any) -> Iterator[Talk]:
    made = Talk(daemon(notes=NOTES))
    made.begin()
    yield made


def told(prompt: Any) -> list[str]:
    text = json.dumps(prompt, ensure_ascii=False).casefold()
    return [canary for canary in CANARIES if canary in text]


@pytest.mark.parametrize("how", ["front matter", "ignored", "deleted rights"])
def test_a_note_that_is_withheld_is_in_no_later_prompt_not_even_by_name(talk: Talk, how: str) -> None:
    if how == "front matter":
        talk.write("secret.md", "---\nworkspaced: private\n---\n# Zugvogel\n\nDie Flugroute. Der Falke.\n")
    elif how == "ignored":
        talk.write(".workspacedignore", "secret.md\n")
    else:
        talk.client.call("workspaced/share", {"client": "runtime", "level": "names"})
    prompt = talk.ask("And now?", *([] if how == "deleted rights" else ["open.md"]))
    assert told(prompt) == []
    assert told(talk.client.context.assemble(talk.id, shape="anthropic", message=prompt["messageId"])) == []
    assert ("Everyone may see it." in str(prompt)) == (how != "deleted rights")
    talk.restart()
    assert told(talk.ask("After a crash?")) == []


def test_a_note_that_may_be_seen_again_is_shown_whole_again(talk: Talk) -> None:
    talk.write(".workspacedignore", "secret.md\n")
    assert told(talk.ask("And now?")) == []
    talk.write(".workspacedignore", "")
    prompt = talk.ask("And now?", "secret.md")
    assert "Der Falke." in str(prompt["messages"][-1]) and str(prompt["messages"]).count("# Zugvogel") == 1


def test_what_one_client_may_not_see_is_in_no_prompt_that_it_asks_for(talk: Talk) -> None:
    with talk.running.connect("narrow") as narrow:
        narrow.call("workspaced/share", {"client": "narrow", "level": "names"})
        prompt = talk.ask("And now?", client=narrow)
        assert told(prompt) == [] and "Everyone may see it." not in str(prompt)
    assert "Everyone may see it." in str(talk.ask("And I?", "open.md")["messages"][-1])


def telling(data: Path) -> list[str]:
    found = []
    for path in data.rglob("*"):
        if path.is_file() and path.name != "lock":
            content = path.read_bytes()
            text = b"\n".join([str(path).encode(), content, unpacked(content)]).decode(errors="replace").casefold()
            found += [path.name] if any(canary in text for canary in CANARIES) else []
    return found


def test_a_note_that_is_forgotten_is_in_no_turn_either(talk: Talk) -> None:
    data = talk.running.data
    talk.client.close()
    talk.running.stop()
    assert len(telling(data)) > 3
    done = talk.running.cli("forget", "secret.md", "--data-dir", str(data), "--yes")
    assert done.returncode == 0, done.stderr
    assert telling(data) == []
    (talk.running.vault / "secret.md").unlink()
    talk.running.start()
    talk.client = talk.running.connect("runtime")
    prompt = talk.ask("And now?", "other.md")
    assert told(prompt) == [] and "Words." in str(prompt)
    assert set(talk.verified(data)) <= {"same", "notRecorded"}
    assert telling(data) == []


def test_a_part_of_a_log_from_the_middle_of_a_conversation_rebuilds_its_prompts(
    talk: Talk, tmp_path: Path
) -> None:
    events = talk.client.call("workspaced/log", {"from": 1, "limit": 1_000, "types": ["prompt_assembled"]})[
        "events"
    ]
    first = events[-1]["seq"]
    talk.client.context.rebase(talk.id)
    talk.ask("Four?", "secret.md")
    talk.write("secret.md", "Nothing is left.\n")
    talk.ask("Five?")
    bundle = tmp_path / "part.bundle"
    done = talk.running.cli(
        "bundle", "--data-dir", str(talk.running.data), "--from", str(first), "--output", str(bundle)
    )
    assert done.returncode == 0, done.stderr
    assert talk.verified(bundle) == {"same": 3}


@pytest.mark.thorough
def test_killed_between_any_two_steps_it_goes_on_as_if_nothing_was(daemon: Any) -> None:
    talk = Talk(daemon(notes=NOTES), context_window=3_000)
    before: list[Any] = []
    folds = 0
    for number in range(9):
        prompt = talk.ask(f"Question {number}?", "open.md", *(["secret.md"] if number % 3 == 0 else []))
        assert prompt["messages"][: len(before)] == before or talk.folds() > folds
        before, folds = prompt["messages"], talk.folds()
        if number % 2:
            talk.write("secret.md", f"{NOTES['secret.md']}Falke {number}.\n")
            talk.restart()
    assert talk.verified(talk.running.data) == {"same": 9}


def test_a_fold_within_a_turn_takes_no_text_that_only_an_earlier_prompt_read(daemon: Any) -> None:
    talk = Talk(daemon(notes=NOTES), context_window=4_000)
    talk.ask("One?", "secret.md", "open.md")
    talk.write("secret.md", NOTES["secret.md"] + "Der Falke.\n")
    talk.client.context.message(talk.id, {"role": "user", "text": "Two?"})
    first = talk.client.context.assemble(talk.id)
    assert "Changed since shown above: secret.md (+1 -0)" in str(first["messages"][-1])
    talk.write("secret.md", "Nothing is left.\n")
    for number in range(6):
        call = {"id": f"call-{number}", "name": "find"}
        talk.client.context.message(talk.id, {"role": "assistant", "toolCalls": [call]})
        result = {**call, "text": "row " * 500}
        talk.client.context.message(talk.id, {"role": "user", "toolResults": [result]})
        talk.client.context.assemble(talk.id)
    assert talk.folds() > 0
    assert talk.verified(talk.running.data) == {"same": 8}
