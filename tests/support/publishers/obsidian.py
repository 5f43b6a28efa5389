"""Obsidian as the situations of publishers drive it: the plugin as it is shipped, on a host of ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from support.obsidian import ANSWER_S, MISSING, Person
from support.publishers.protocol import ABILITIES


class Obsidian:
    """Implements `PublishingEditor`."""

    can: ClassVar[frozenset[str]] = ABILITIES - {"bytes"}
    lasting: ClassVar[str] = "obsidian"
    missing: ClassVar[str | None] = MISSING

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._person = Person(env, folder)

    def end(self) -> None:
        self._person.end()

    def open(self, path: Path) -> None:
        self._person.does("open", path)

    def split(self, path: Path) -> None:
        self._person.does("split", path)

    def close(self, path: Path) -> None:
        self._person.does("close", path)

    def pin(self, path: Path) -> None:
        self._person.does("pin", path)

    def unpin(self, path: Path) -> None:
        self._person.does("unpin", path)

    def select(self, path: Path, first: int, last: int) -> None:
        self._person.does("select", path, first, last)

    def rename(self, old: Path, new: Path) -> None:
        self._person.does("rename", old, new)

    def focus(self) -> None:
        self._person.does("focus")

    def blur(self) -> None:
        self._person.does("blur")

    def burst(self, paths: Sequence[Path]) -> None:
        self._person.does("burst", list(paths))

    def pause(self) -> None:
        self._person.does("pause")

    def resume(self) -> None:
        self._person.does("resume")

    def settled(self) -> None:
        self._person.does("settled")

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = self._person.does("told")
        return told

    def kill(self) -> None:
        self._person.process.kill()
        self._person.process.wait(ANSWER_S)

    def quit(self) -> None:
        self._person.does("quit")
        self._person.process.wait(ANSWER_S)
