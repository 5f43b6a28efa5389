"""Follows the daemon that writes the log, so that the page shows what happens now.

The log's directory is read once; what comes after it is told by a subscription that begins there. A log that is
another one (its id changed, or it does not continue) is read anew. A daemon that stops is looked for until it is
back.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import decode_event

from ..client.async_client import Client
from ..client.wire import Notice
from ..errors import NoDaemon, RemoteError, TimedOut
from .inspected import Inspected
from .open_log import OpenLog
from .tail import DaemonLink, Opened, Tail
from .views.agents import CLIENT
from .views.newest import grew

_TAIL_RETRY_S: Final = 1.0
"""How often a daemon that is gone is looked for."""
_TAIL_PACE_S: Final = 0.1
"""Pause between two messages about a log that grows, so that a burst becomes few messages."""
_GOES_ON: Final = "This page goes on when it is back."
_PAGE_EVENTS: Final = 1_000
_NOTICES_MAX: Final = 200
"""Notices that are taken together."""


async def follow(log: OpenLog, tail: Tail) -> None:
    """Tells `tail` what becomes of `log`, until cancelled. Of a log that does not grow only that it is open."""
    socket = log.subject.socket
    try:
        tail.tell(Opened(await log.read(_last), grows=socket is not None))
    except WorkspacedError:
        return  # the page is told why by whatever it asks
    if socket is not None:
        await _Follower(log, socket, tail).run()


class _OtherLog(Exception):
    """What the daemon has is not what was read."""


class _Follower:
    """Follows one daemon, as often as it starts."""

    def __init__(self, log: OpenLog, socket: Path, tail: Tail) -> None:
        self._log = log
        self._socket = socket
        self._tail = tail
        self._instance: object = None
        """The daemon's life that was followed last."""
        self._last = 0
        """The sequence of the last event that the log has."""

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
                self._tell_gone("The daemon does not answer.")
            except (NoDaemon, TimedOut, RemoteError) as error:
                self._tell_gone(error.message)
            except _OtherLog:
                with suppress(WorkspacedError):  # the page is told why by whatever it asks
                    await self._log.reload()
                    self._tail.tell(Opened(await self._log.read(_last), grows=True))
            await anyio.sleep(_TAIL_RETRY_S)

    def _tell_gone(self, why: str) -> None:
        self._tail.tell(DaemonLink(connected=False, why=f"{why} {_GOES_ON}"))

    async def _follow(self) -> None:
        """Follows until the connection ends.

        Raises:
            _OtherLog: the log is to be read anew.
            NoDaemon, TimedOut, RemoteError: the daemon is not there, or refuses.
        """
        async with Client.open(self._socket, name=CLIENT) as client:
            log_id, self._last = await self._log.read(lambda inspected: (inspected.log.log_id, _last(inspected)))
            self._check_same(client.server, log_id)
            async with client.subscribe(since=f"{log_id}:{self._last}") as notices:
                self._tail.tell(DaemonLink(connected=True))
                async for notice in notices:
                    await self._take(client, [notice, *_waiting(notices)])
                    await anyio.sleep(_TAIL_PACE_S)

    def _check_same(self, server: dict[str, Any], log_id: str) -> None:
        """
        Raises:
            _OtherLog: it is another log, or the daemon started anew: while none ran, notes may have been
                forgotten, which changes events in their places.
        """
        former, self._instance = self._instance, server.get("instance")
        daemons, _, clock = str(server["clock"]).rpartition(":")
        # What the files hold beyond the daemon's clock, it has acknowledged or lost by the next reading.
        if daemons != log_id or int(clock) < self._last or former not in (None, self._instance):
            raise _OtherLog

    async def _take(self, client: Client, notices: Sequence[Notice]) -> None:
        """Extends the log by what the notices tell.

        Raises:
            _OtherLog: they do not continue it.
        """
        before = self._last
        for notice in notices:
            if notice.method == "workspaced/gap":
                await self._fill(client, notice.params["to"])
            else:
                await self._extend(notice.params["events"])
        if self._last > before:
            self._tail.tell(await self._log.read(lambda inspected: grew(inspected, before)))

    async def _fill(self, client: Client, until: int) -> None:
        """Reads what a subscription skipped because we were far behind."""
        while self._last < until:
            page = await client.call("workspaced/log", {"from": self._last + 1, "limit": _PAGE_EVENTS})
            if not page["events"]:
                raise _OtherLog
            await self._extend(page["events"])

    async def _extend(self, events: list[dict[str, Any]]) -> None:
        decoded: list[Event] = [decode_event(msgspec.json.encode(each)) for each in events]
        following = [event for event in decoded if event.seq > self._last]
        if not following:
            return
        try:
            await self._log.read(lambda inspected: inspected.log.extend(following))
        except InvalidArgument:
            raise _OtherLog from None
        self._last = following[-1].seq


def _waiting(notices: MemoryObjectReceiveStream[Notice]) -> list[Notice]:
    """What has come already, without waiting."""
    found: list[Notice] = []
    while len(found) < _NOTICES_MAX:
        try:
            found.append(notices.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return found


def _last(inspected: Inspected) -> int:
    events = inspected.log.events()
    return events[-1].seq if events else 0
