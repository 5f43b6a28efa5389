"""`workspaced context`, and what `replay --verify` and `status` say of prompts."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from workspaced import replay
from workspaced.cli import run
from workspaced_tools.prompts.audit import cache_accounting

NOTES = {
    "a.md": "# Alpha\n\nThe first note.\n",
    "b.md": "# Beta\n\n\x1b[31mred\tcell\x1b[0m\n",
    "long.md": "# Long\n\n" + "A line of many words.\n" * 400,
}
SYSTEM = "You help.\n" + "Mind the rules. " * 400


class Session:
    """A daemon with a conversation of four prompts, and what it answered to each."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.sent: dict[str, Any] = {}
        with running.connect("runtime") as client:
            context = client.context
            context.start(
                conversation="talk-1",
                provider="openai",
                model="some",
                context_window=100_000,
                output_reserve=1_000,
                system=SYSTEM,
                tools=[{"name": "look_up"}],
            )
            self.say(context, "m1", "What is Alpha?", "a.md", "gone.md", cached=0)
            context.pin("talk-1", "words", "text", text="Pinned words.")
            self.say(context, "m2", "And \x1b[1mBeta?", "a.md", "b.md", cached=1_650)
            context.message(
                "talk-1", {"id": "c1", "role": "assistant", "toolCalls": [{"id": "call-1", "name": "look_up"}]}
            )
            results = [{"id": "call-1", "name": "look_up", "text": "found"}]
            context.message("talk-1", {"id": "m3", "role": "user", "toolResults": results})
            self.assemble(context, "m3", cached=0)
            self.say(context, "m4", "Go on.", "long.md", cached=None)

    def say(self, context: Any, name: str, text: str, *notes: str, cached: int | None) -> None:
        attachments = [{"kind": "note", "id": note} for note in notes]
        context.message("talk-1", {"id": name, "role": "user", "text": text, "attachments": attachments})
        self.assemble(context, name, cached=cached)

    def assemble(self, context: Any, name: str, *, cached: int | None) -> None:
        self.sent[name] = context.assemble("talk-1")
        if cached is not None:
            details = {"cached_tokens": cached}
            report = {"prompt_tokens": 2_000, "prompt_tokens_details": details, "completion_tokens": 0}
            context.usage("talk-1", report, shape="openai")
        context.message("talk-1", {"role": "assistant", "text": f"Answer to {name}."})

    def context(self, *arguments: str) -> str:
        done = self.running.cli("context", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.context(*arguments, "--json"))


@pytest.fixture(scope="module")
def session(module_daemon: Any) -> Session:
    return Session(module_daemon(notes=NOTES))


@pytest.fixture
def gone(session: Session, tmp_path: Path) -> Path:
    """A copy of the data directory, to be spoilt."""
    return shutil.copytree(session.running.data, tmp_path / "data", ignore=shutil.ignore_patterns("lock*"))


# -- list --


def test_conversations_are_listed_with_their_prompts(session: Session) -> None:
    listed = session.json("list")
    assert (listed["conversation"], listed["model"], listed["prompts"]) == ("talk-1", "some", 4)
    assert (listed["cache"]["hits"], listed["cache"]["misses"], listed["cache"]["notReported"]) == (1, 2, 1)
    assert re.search(r"talk-1 .*openai/some +\d+ +4 ", session.context("list"))
    assert session.context() == session.context("list")


# -- show --


def test_the_last_prompt_is_shown_by_default_and_the_beginning_of_an_id_will_do(session: Session) -> None:
    assert session.json("show", "talk")["messageId"] == "m4"
    text = session.context("show", "t")
    for part in ("for message m4 of conversation talk-1", "--- system", "--- user m4", "<note_context>"):
        assert part in text
    assert "[toolResult look_up call-1]" in text and "Answer to m2." in text


def test_the_cache_is_accounted_for_prompt_by_prompt(session: Session) -> None:
    told = session.json("show", "talk-1", "--cache")
    assert [(each["message"], each["outcome"], each["cause"]) for each in told["prompts"]] == [
        ("m1", "miss", cache_accounting.FIRST),
        ("m2", "hit", None),
        ("m3", "miss", cache_accounting.EVICTED),
        ("m4", "unknown", cache_accounting.NOT_REPORTED),
    ]
    assert told["prompts"][2]["expected"] == told["prompts"][1]["estimate"]
    text = session.context("show", "talk-1", "--cache")
    assert "4 prompts: 1 hit, 2 misses, 1 not reported; 1,650 of 6,000 tokens came from the cache" in text


# -- verifying --


def test_verifying_makes_prompts_again(session: Session, gone: Path) -> None:
    done = session.running.cli("replay", "--verify", str(gone))
    assert done.returncode == 0 and "4 prompts: 4 are the same, 0 differ, 0 are not recorded." in done.stdout
    lines = [
        json.loads(line)
        for line in session.running.cli("replay", "--verify", "--json", str(gone)).stdout.splitlines()
    ]
    prompts = [line for line in lines if "message" in line]
    assert [(each["message"], each["outcome"]) for each in prompts] == [(f"m{at}", "same") for at in range(1, 5)]
    with replay.open(gone) as log:
        assert [each.outcome for each in log.verify()] == ["same"] * len(lines)
    shutil.rmtree(gone / "blobs")
    (gone / "blobs").mkdir()
    done = session.running.cli("replay", "--verify", str(gone))
    assert done.returncode == 4 and "4 are not recorded." in done.stdout
    assert "No prompt could be compared" in done.stderr


def test_the_first_prompt_that_is_assembled_otherwise_is_shown_as_a_difference(
    gone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workspaced_tools.prompts.model.blocks.above_line", lambda *_, **__: "Look above.")
    assert run(["replay", "--verify", str(gone)]) == 1
    said = capsys.readouterr().out
    assert "2 differ" in said and "for message m2 of conversation talk-1" in said
    assert "L3_TURN is another one" in said and "+L3_TURN" in said and "-L3_TURN" in said
    assert run(["context", "show", "talk-1", str(gone), "--message", "m2"]) == 1
    assert "not as it was sent: L3_TURN" in capsys.readouterr().err
