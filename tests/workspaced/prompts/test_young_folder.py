"""A folder that was created a moment ago is attached with its notes at once."""

from pathlib import Path
from typing import Any

import pytest

SETTINGS = {"provider": "openai", "model": "m", "context_window": 100_000, "output_reserve": 1_000}


def write(vault: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)


def attached(client: Any, folder: str, text: str) -> str:
    """The prompt for a message with the folder attached, as text."""
    client.context.start(conversation=text, **SETTINGS)
    attachments = [{"kind": "folder", "id": folder}]
    client.context.message(text, {"role": "user", "text": text, "attachments": attachments})
    return str(client.context.assemble(text))


@pytest.mark.parametrize("watch", ["--watch", "--no-watch"])
def test_its_notes_are_in_the_prompt(daemon: Any, watch: str) -> None:
    running = daemon(watch, "--reconcile-s", "600")
    with running.connect("agent") as client:
        notes = {"new/one.md": "# One\n\nThe first text.\n", "new/sub/two.md": "# Two\n\nThe second text.\n"}
        write(running.vault, notes)
        prompt = attached(client, "new", "What is new?")
        assert "The first text." in prompt and "The second text." in prompt
        write(running.vault, {"new/three.md": "# Three\n\nThe third text.\n"})
        assert "The third text." in attached(client, "new", "And now?")


def test_a_private_or_denied_note_of_it_stays_withheld(daemon: Any) -> None:
    running = daemon("--deny", "secret*", "--no-watch", "--reconcile-s", "600")
    with running.connect("agent") as client:
        notes = {
            "new/open.md": "# Open\n\nThe open text.\n",
            "new/private.md": "---\nworkspaced: private\n---\n\nThe private text.\n",
            "new/secret.md": "# Secret\n\nThe denied text.\n",
        }
        write(running.vault, notes)
        prompt = attached(client, "new", "What is new?")
    assert "The open text." in prompt
    assert "private" not in prompt and "denied" not in prompt
