"""What was put into requests is kept, forgotten, redacted and withheld as what agents asked for is."""

import json
from typing import Any

import pytest
from support.overlaid_runtime import Runtime, looks_at
from support.stored_texts import unpacked
from support.talk import files_telling

from workspaced import replay

SECRET = "private/Geheimplan Falke.md"
NOTES = {SECRET: "# Zugvogel\n\nDie Flugroute.\n", "other.md": "# Alltag\n\nNichts weiter.\n"}
CANARIES = ("geheimplan", "zugvogel", "flugroute")


@pytest.fixture
def told_of_both(daemon: Any) -> Any:
    """A stopped daemon whose agent was told the text of the secret note, and then that of another one."""
    running = daemon(notes=NOTES)
    runtime = Runtime(running)
    looks_at(running, SECRET)
    assert "Flugroute" in runtime.asks("One?")[0]
    looks_at(running, "other.md")
    assert "Nichts weiter" in runtime.asks("Two?")[1]
    looks_at(running, SECRET)
    assert "Flugroute" not in runtime.asks("Three?")[2]
    looks_at(running, "other.md")
    another = Runtime(running)
    assert "Nichts weiter" in another.asks("Hello?")[0]
    assert running.stop() == 0
    return running


def outcomes(running: Any, log: Any) -> tuple[int, list[tuple[str, str]]]:
    """The exit code of the verification, and what became of each call and prompt."""
    done = running.cli("replay", "--verify", "--json", str(log))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [("call" if "tool" in each else "prompt", each["outcome"]) for each in lines]


def test_a_note_whose_text_was_inserted_is_forgotten(told_of_both: Any) -> None:
    running = told_of_both
    assert len(files_telling(running.data, CANARIES)) > 1
    done = running.cli("forget", SECRET, "--data-dir", str(running.data), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert files_telling(running.data, CANARIES) == []
    code, found = outcomes(running, running.data)
    # The second text says that the user looks elsewhere now: its call names the note, too.
    assert (code, found) == (0, [*[("prompt", "notRecorded")] * 3, ("call", "same"), ("prompt", "same")])
    running.start()
    looks_at(running, "other.md")
    runtime = Runtime(running)
    assert "Nichts weiter" in runtime.asks("One?")[0]


def test_a_chat_that_lost_a_text_is_told_everything_anew(told_of_both: Any) -> None:
    """What is left of it was the difference from what is forgotten."""
    running = told_of_both
    running.start()
    runtime = Runtime(running, has_tools=True)
    for note, words in ((SECRET, "About what?"), ("other.md", "And that?")):
        looks_at(running, note)
        runtime.asks(words)
    running.publish("note_pinned", note="other.md")
    assert len(runtime.asks("And now?")) == 3
    assert running.stop() == 0
    assert running.cli("forget", SECRET, "--data-dir", str(running.data), "--yes").returncode == 0
    running.start()
    (anew,) = runtime.asks("What else?")
    assert "\nvault: " in anew and "\npinned: other.md" in anew
    assert runtime.asks("Nothing?") == [anew]
    assert running.stop() == 0
    assert outcomes(running, running.data)[1][-2:] == [("prompt", "same")] * 2


def test_a_redacted_bundle_of_insertions_holds_no_word_of_a_note_and_verifies(told_of_both: Any) -> None:
    running = told_of_both
    bundle = running.root / "b.wsb"
    done = running.cli("bundle", "--redact", "-o", str(bundle), "--data-dir", str(running.data))
    assert done.returncode == 0, done.stderr
    text = unpacked(bundle.read_bytes()).decode(errors="replace").casefold()
    assert not [each for each in (*CANARIES, "alltag", "nichts weiter") if each in text]
    code, found = outcomes(running, bundle)
    assert code == 0 and found.count(("call", "same")) == 4
    with replay.open(bundle) as log:
        texts = [each.served["data"]["text"] for each in log.calls()]
    assert [text.count("| ") > 0 for text in texts] == [True, True, False, True]
