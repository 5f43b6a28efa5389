"""A chat whose requests were overlaid."""

from typing import Any

import pytest
from support.overlaid_runtime import Runtime, looks_at

NOTES = {"a.md": "# A\n\nAlpha \u00e9.\n", "b.md": "# B\n\nBeta.\n", "c.md": "# C\n\nGamma.\n"}


@pytest.fixture
def asked(daemon: Any) -> tuple[Any, list[list[str]]]:
    """A stopped daemon, and what stood in its agent's requests; before the last a note was withheld."""
    running = daemon(notes=NOTES)
    runtime = Runtime(running)
    stood = []
    for note, words in (("a.md", "One?"), ("b.md", "Two?"), ("b.md", "Three?"), ("c.md", "Four?")):
        looks_at(running, note)
        if note == "c.md":
            (running.vault / "a.md").write_text("---\nworkspaced: private\n---\n" + NOTES["a.md"])
        stood.append(runtime.asks(words))
    assert running.stop() == 0
    return running, stood


@pytest.fixture
def running(daemon: Any) -> Any:
    made = daemon(notes=NOTES)
    looks_at(made, "a.md")
    return made
