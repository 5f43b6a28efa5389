"""The connection to the daemon: says when to look again, and what may be told then.

It is kept until the link ends. While the daemon is gone nothing is told; once it is back, the present is.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import anyio

from workspaced_events.errors import WorkspacedError
from workspaced_events.schema import catalogue
from workspaced_events.schema.registry import CATALOGUE

from ..client.async_client import Client
from ..errors import NoDaemon

_LINK_RETRY_S: Final = 1.0
"""How often a link looks for a daemon that is gone."""
_LINK_ANSWER_S: Final = 5.0
"""How long a link waits for the daemon."""
logger = logging.getLogger(__name__)

CLIENT_NAME: Final = "workspaced-ide"
_SHOWN: Final = {catalogue.NoteShown, catalogue.NoteWithheld}
TYPES: Final = tuple(name for name, entry in CATALOGUE.items() if entry.changes_state or entry.data in _SHOWN)
"""The events after which something else may be told. What was told is an event too, and not among them."""

Part = Literal["selection", "editors"]


class Look(NamedTuple):
    """What may be told at a moment."""

    view: dict[str, Any] | None
    """None: nothing."""
    token: str | None = None
    """Confirms that it was told."""
    failure: WorkspacedError | None = None
    """Why the daemon did not answer; None: it did."""


class DaemonLink:
    """Belongs to the loop's thread."""

    def __init__(self, socket: Path, client: str, folders: Sequence[str]) -> None:
        """
        Args:
            client: the name whose sharing level and volunteering count.
            folders: the first one in a served vault says which vault is told of.
        """
        self._socket = socket
        self._about = {"client": client, "folders": list(folders)}
        self._client: Client | None = None
        self._moved = anyio.Event()
        self.moves = 0
        """Counts the moments at which something else may be told."""

    async def keep_connected(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                async with Client.open(self._socket, name=CLIENT_NAME, timeout_s=_LINK_ANSWER_S) as client:
                    self._client = client
                    while True:
                        await self._follow(client)
            except WorkspacedError as error:
                if self._client is not None:  # else it was gone before, and that was said
                    logger.warning("the daemon is gone, and waited for: %s", error.message)
            self._client = None
            self._move()
            await anyio.sleep(_LINK_RETRY_S)

    async def moved_since(self, moves: int) -> None:
        """Returns once something else may be told than at that count."""
        while self.moves == moves:
            await self._moved.wait()

    async def look(self, session: str, event: str, part: Part = "selection") -> Look:
        """What may be told now. Never raises, never waits longer than _LINK_ANSWER_S.

        Args:
            event: the name of the message that will tell it; recorded if it was told.
        """
        client = self._client
        if client is None or not client.is_connected:
            return Look(None, failure=NoDaemon(f"The daemon on {self._socket} is gone."))
        asked = {**self._about, "session": session, "event": event, "part": part}
        try:
            answer = await client.call("workspaced/volunteer/editor", asked)
        except WorkspacedError as failure:
            return Look(None, failure=failure)
        return Look(answer["view"], answer["token"])

    async def confirm(self, look: Look) -> None:
        """Has it recorded that the look was told."""
        if look.token is None or self._client is None or not self._client.is_connected:
            return
        try:
            await self._client.call("workspaced/volunteer/confirm", {"token": look.token})
        except WorkspacedError as error:
            logger.warning("what was told was not recorded: %s [%s]", error.message, error.code)

    async def _follow(self, client: Client) -> None:
        """Follows one subscription to its end, which is a lost connection or too many events at once.

        Raises:
            WorkspacedError: the daemon did not come back in time.
        """
        async with client.subscribe(types=TYPES) as notices:
            self._move()
            async for _ in notices:
                self._move()
        self._move()

    def _move(self) -> None:
        self.moves += 1
        before, self._moved = self._moved, anyio.Event()
        before.set()
