"""Conversations over notes on disk, for the tests of prompts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import past_world
from support.conversation import NotesTalk

NOTES = {"a.md": "# Alpha\n\nOne.\nTwo, two.\nThree.\n", "b.md": "# Beta\n\nThe second.\n"}


@pytest.fixture
def make_chat(tmp_path: Path) -> Iterator[Callable[..., NotesTalk]]:
    """make_chat(**settings) -> a conversation over `a.md` and `b.md`."""
    worlds: list[Any] = []

    def make(**settings: Any) -> NotesTalk:
        worlds.append(past_world.World(tmp_path / f"vault{len(worlds)}", NOTES))
        return NotesTalk(worlds[-1], **settings)

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def chat(make_chat: Callable[..., NotesTalk]) -> NotesTalk:
    return make_chat()
