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
    show(running, "Plan.md")
    return running


@pytest.fixture
def link(world: Any) -> Iterator[Link]:
    with Link(world) as running:
        yield running


def publish(running: Any, kind: str, **data: Any) -> None:
    with running.connect() as client:
        client.publish([{"type": kind, "data": data}])


def show(running: Any, note: str | None) -> None:
    publish(running, "active_note_set", note=note)


def select(running: Any, note: str, first: int, last: int, **more: Any) -> None:
    publish(running, "selection_changed", note=note, startLine=first, endLine=last, **more)


def volunteered(running: Any) -> list[dict[str, Any]]:
    """What the log says was told."""
    with running.connect() as client:
        client.call("workspaced/calls")  # waits until all is recorded
        events = client.call("workspaced/log", {"from": 1, "limit": 500})["events"]
    return [{**each["data"], "seq": each["seq"]} for each in events if each["type"] == "context_volunteered"]
