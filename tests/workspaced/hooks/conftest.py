"""A daemon whose user looks at a note."""

from typing import Any

import pytest

NOTES = {"Plan.md": "# Plan\n\none\ntwo\n", "Budget.md": "# Budget\n", "Ideas.md": "# Ideas\n"}


@pytest.fixture
def world(daemon: Any) -> Any:
    running = daemon(notes=NOTES)
    running.publish("active_note_set", note="Plan.md")
    return running
