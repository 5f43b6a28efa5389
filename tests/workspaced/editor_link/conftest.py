"""A daemon whose user has a note before them, and the link to its editor."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.editor_link import Link

NOTES = {
    "Plan.md": "# Plan\n\none\ntwo ä😀\n",
    "Budget.md": "# Budget\n",
    "Secret.md": "---\nworkspaced: private\n---\nhidden\n",
    "Asked.md": "---\nworkspaced: on-request\n---\nasked\n",
}


@pytest.fixture
def world(daemon: Any) -> Any:
    running = daemon(notes=NOTES)
    running.publish("active_note_set", note="Plan.md")
    return running


@pytest.fixture
def link(world: Any) -> Iterator[Link]:
    with Link(world) as running:
        yield running


def select(running: Any, note: str, first: int, last: int, **more: Any) -> None:
    running.publish("selection_changed", note=note, startLine=first, endLine=last, **more)
