"""One daemon as the language server sees it: its vaults, what it was told, and what it answers."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import uuid7

from ..client.async_client import Client
from ..client.wire import hello_params
from ..errors import NoDaemon, TimedOut
from ..limits import LSP_TICK_S
from .documents import Shown, snapshot

logger = logging.getLogger(__name__)

NAME: Final = "lsp"
"""The name in hello, whose sharing level counts, and the source of pins."""


class Daemon:
    """A connection. Belongs to the loop's thread.

    Attributes:
        vaults: the served folders with their ids.
        problem: why the daemon does not take what it is told; None: it does.
    """

    def __init__(self, client: Client, owed: set[str], on_ready: Callable[[], None]) -> None:
        """
        Args:
            owed: the folders of vaults that an earlier connection showed something of: what is not shown any more
                is to be taken back. Kept up to date.
            on_ready: called whenever the daemon greeted.
        """
        self._owed = owed
        self._source = f"{NAME}-{os.getpid()}-1"
        """The source of views."""
        self.client = client
        self.vaults: list[tuple[str, str]] = []
        self.problem: str | None = None
        self._on_ready = on_ready
        self._server: Mapping[str, Any] | None = None
        self._views: dict[str, Shown] = {}
        self._focus: str | None = None
        self.told: dict[str, Shown] = {}
        """What the daemon has taken, by vault."""
        self._current: str | None = None
        self._changed = asyncio.Event()

    @property
    def is_told(self) -> bool:
        """Whether the daemon has taken all that it is to be told."""
        return not any(self._differs(vault, view) for vault, view in self._views.items())

    def _differs(self, vault: str, view: Shown) -> bool:
        """Whether the daemon does not know the view. Of a vault of which nothing was shown it knows that."""
        told = self.told.get(vault)
        if told is None:
            return not view.is_empty or dict(self.vaults).get(vault) in self._owed
        return told != view

    def show(self, views: Mapping[str, Shown], focus: str | None) -> None:
        """Tells the views of the vaults, by their ids, from now on. `focus`: the vault that the user looks at."""
        self._views = {vault: views.get(vault, Shown()) for vault, _ in self.vaults}
        self._focus = focus
        self._changed.set()

    def forget(self) -> None:
        """Tells everything again: another editor's view came or went."""
        self.told = {}
        self._changed.set()

    async def attend(self) -> None:
        """Keeps the daemon informed until the connection is lost."""
        following: asyncio.Task[None] | None = None
        try:
            while self.client.is_connected:
                if self._server is not self.client.server:
                    await self._greeted()
                    if following is not None:
                        following.cancel()
                    following = asyncio.create_task(self._follow())
                await self._tell()
                self._changed.clear()
                if self.problem is not None or self.is_told:
                    with anyio.move_on_after(LSP_TICK_S):
                        await self._changed.wait()
        finally:
            if following is not None:
                following.cancel()  # while the connection stands, so that it can end the subscription
                await asyncio.gather(following, return_exceptions=True)

    async def act(self, action: str, data: Mapping[str, Any], vault: str, name: str | None = None) -> None:
        """Publishes an action of the user. `name`: its id, if it was sent before.

        Raises:
            WorkspacedError: the daemon refused it, or did not answer.
        """
        what = {"type": action, "data": data, "vault": vault, "id": name or uuid7()}
        source = NAME if action == "note_pinned" else self._source
        await self.client.call("workspaced/publish", {"actions": [what], "source": source})

    async def leave(self) -> None:
        """Takes the views back."""
        self.show({}, None)
        with suppress(WorkspacedError):
            await self._tell()

    async def _greeted(self) -> None:
        """Takes note of a daemon that is new on the connection."""
        with suppress(NoDaemon, TimedOut):
            await self.client.call("workspaced/hello", {**hello_params(NAME), "inferred": True})
        self._server = server = self.client.server
        self.vaults = [(each["id"], each["path"]) for each in server.get("vaults", ())]
        self.told, self._current = {}, None
        self._on_ready()

    async def _tell(self) -> None:
        """Sends what the daemon does not know yet."""
        try:
            for vault, view in list(self._views.items()):
                if self._differs(vault, view):
                    if len(self.vaults) > 1 and vault == self._focus != self._current and view.active is not None:
                        await self.act("vault_switched", {"vaultId": vault}, vault)
                        self._current = vault
                    await self.client.call("workspaced/snapshot", snapshot(view, self._source, vault))
                    self.told[vault] = view
                    self._owed.discard(dict(self.vaults)[vault])
                    if not view.is_empty:
                        self._owed.add(dict(self.vaults)[vault])
            self.problem = None
        except WorkspacedError as error:
            self.problem = error.message
            logger.info("%s: %s", self.client.path, error.message)

    async def _follow(self) -> None:
        """Shows everything again whenever another editor's view opens or closes: another may count now."""
        with suppress(WorkspacedError):
            async with self.client.subscribe(types=("view_opened", "view_closed")) as notices:
                async for notice in notices:
                    events = notice.params.get("events", ())
                    if not events or any(map(self._may_count_more, events)):
                        self.forget()

    def _may_count_more(self, event: Mapping[str, Any]) -> bool:
        """Whether a view came or went that counts more than an inferred one."""
        if event["type"] == "view_opened":
            return bool(event["data"].get("confidence") != "inferred")
        return bool(event.get("source") != self._source)
