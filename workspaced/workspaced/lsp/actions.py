"""What the user did with notes, until a daemon took it: pins and renames."""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import uuid7

from ..errors import RemoteError
from ..limits import LSP_TICK_S, LSP_WAITING_MAX
from .daemons import Daemons

logger = logging.getLogger(__name__)


class Waiting(NamedTuple):
    """An action that no daemon took yet. It keeps its id, so that however often it is sent, it is one event."""

    type: str
    real: str
    """The real path of the note."""
    to: str | None
    """Of a rename: the new real path."""
    id: str


class Actions:
    """Belongs to the loop's thread. Beyond LSP_WAITING_MAX the oldest are dropped."""

    def __init__(self, daemons: Daemons, touch: Callable[[], None]) -> None:
        """`touch` is called when some wait to be handed on."""
        self._daemons = daemons
        self._touch = touch
        self._waiting: list[Waiting] = []

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def add(self, action: str, real: str, to: str | None = None) -> None:
        """Tells the daemon of a note what the user did with it, now or once one serves it."""
        self._waiting = [*self._waiting, Waiting(action, real, to, uuid7())][-LSP_WAITING_MAX:]
        if self._daemons.place(real) is None:
            self._daemons.seek()
        self._touch()

    async def hand_on(self) -> None:
        """Tells each action to the daemon that serves its note; those that none takes wait."""
        waiting, self._waiting = self._waiting, []
        left = [each for each in waiting if not await self._told(each)]
        self._waiting = [*left, *self._waiting][-LSP_WAITING_MAX:]
        if self._waiting:
            asyncio.get_running_loop().call_later(LSP_TICK_S, self._touch)

    async def _told(self, action: Waiting) -> bool:
        """Whether the action needs to wait no more: a daemon took or refused it, or the note left its vault."""
        place = self._daemons.place(action.real)
        if place is None:
            return False
        data = {"note": place.note}
        if action.to is not None:
            to = place.note_at(action.to)
            if to is None:
                return True
            data = {"from": place.note, "to": to}
        try:
            await place.daemon.act(action.type, data, place.vault, action.id)
        except RemoteError as error:
            logger.info("%s: %s", action.type, error.message)
        except WorkspacedError:
            return False
        place.daemon.forget()
        return True
