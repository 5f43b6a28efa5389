"""A user's desk: a daemon, and editors that tell it what they show. What came of it is read from the daemon."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from support.daemon import Daemon
from support.publishers import EDITORS
from support.publishers.protocol import PublishingEditor
from support.publishers.vscode import VSCode
from workspaced import SyncClient
from workspaced.errors import NoDaemon, RemoteError

UNTIL_S = 60.0
SOURCES = tuple(kind.lasting for kind in EDITORS.values())
State = dict[str, Any]


class Shown(NamedTuple):
    """What a daemon's state says is shown."""

    active: str | None
    tabs: list[str]
    pins: list[str]


def shown(state: State) -> Shown:
    active = state["activeNote"]["id"] if state["activeNote"] else None
    return Shown(
        active, [tab["noteId"] for tab in state["temporaryTabs"]], [pin["id"] for pin in state["pinnedNotes"]]
    )


class Desk:
    """Editors of one user beside one daemon; ends the editors, not the daemon."""

    def __init__(self, daemon: Daemon, kind: type[PublishingEditor]) -> None:
        """`kind`: of the editors that are started without naming one."""
        self.daemon = daemon
        self.vault = daemon.vault
        self._kind = kind
        self._editors: list[PublishingEditor] = []
        self._client: SyncClient | None = None
        self._marked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if folder := os.environ.get("EDITORS_KEPT"):
            self._keep(Path(folder))
        for editor in self._editors:
            editor.end()

    def _keep(self, folder: Path) -> None:
        """Copies the daemon's log, and pictures of the editors that have them, below a folder (`make editors`)."""
        kept = folder / os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].rpartition(" ")[0]
        log = kept / self.daemon.root.name
        log.mkdir(parents=True)
        for segment in (self.daemon.data / "log").glob("*.wlog"):  # a daemon of another version has none
            shutil.copy(segment, log)
        for number, editor in enumerate(self._editors):
            if isinstance(editor, VSCode) and (picture := editor.picture()) is not None:
                (kept / f"window-{number}.png").write_bytes(picture)

    # -- editors --

    def showing(self, note: str, *needs: str, **options: Any) -> PublishingEditor:
        """Starts an editor as `editor` does; it shows a note of the vault, and the daemon was told."""
        made = self.editor(*needs, **options)
        self.opens(made, note)
        return made

    def opens(self, editor: PublishingEditor, note: str) -> None:
        """The editor opens a note of the vault, and the daemon is told."""
        editor.open(self.vault / note)
        editor.settled()

    def editor(
        self, *needs: str, kind: type[PublishingEditor] | None = None, opened: Path | None = None
    ) -> PublishingEditor:
        """Starts an editor of the daemon's user; skips the test where it lacks what the situation needs.

        Args:
            needs: of `protocol.ABILITIES`.
            opened: the folder that is opened in it; default: the vault.
        """
        kind = kind or self._kind
        if kind.missing is not None:
            pytest.skip(kind.missing)
        if lacking := set(needs) - kind.can:
            pytest.skip(f"{kind.__name__} lacks: {', '.join(sorted(lacking))}")
        self._editors.append(kind({**self.daemon.env}, opened or self.vault))
        return self._editors[-1]

    def note(self, name: str) -> Path:
        """The path of a note, which is there from now on."""
        path = self.vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    # -- what the daemon was told --

    @property
    def client(self) -> SyncClient:
        if self._client is None:
            self._client = self.daemon.connect()
        return self._client

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return self.client.call(method, params)
        except NoDaemon:  # it was started again
            return self.client.call(method, params)

    def state(self, vault: str | None = None) -> State:
        found: State = self._call("workspaced/state", {} if vault is None else {"vault": vault})["state"]
        return found

    def shown(self) -> Shown:
        return shown(self.state())

    def until(self, holds: Callable[[State], bool]) -> None:
        """Waits, event by event, until something holds of the state."""
        ends = time.monotonic() + UNTIL_S
        while not holds(state := self.state()):
            assert time.monotonic() < ends, (state, self.events())
            try:
                self._call("workspaced/state", {"minSeq": state["seq"] + 1})
            except RemoteError as error:
                assert error.code == "TIMEOUT", error

    def mark(self) -> None:
        """`events` begins behind what was recorded so far."""
        self._marked = self._call("workspaced/status", {})["seq"]

    def events(self, *types: str) -> list[dict[str, Any]]:
        """What editors published since `mark`, all or of some types; not that views were opened."""
        found: list[dict[str, Any]] = []
        at = self._marked + 1
        while page := self._call("workspaced/log", {"from": at})["events"]:
            found += page
            at = page[-1]["seq"] + 1
        return [
            event
            for event in found
            if event["source"].startswith(SOURCES)
            and (event["type"] in types if types else event["type"] not in ("view_opened", "view_closed"))
        ]
