"""Subscriptions: each is a cursor into the log that follows the tail.

The signal only says that the tail moved. Events come from memory, or from the log if the subscriber is further
behind. A subscriber more than GAP_EVENTS behind gets `workspaced/gap` and continues at the tail. A client that
does not read stops only its own cursors.
"""

import itertools
import logging

from workspaced_events.errors import LogError
from workspaced_events.schema.catalogue import Event

from ..ipc.jsonrpc import notification
from ..limits import GAP_EVENTS, NOTIFICATION_EVENTS_MAX
from .service import Service
from .session import Session

logger = logging.getLogger(__name__)

_numbers = itertools.count(1)


class Subscription:
    """One client's cursor."""

    closing_response = None

    def __init__(self, service: Service, session: Session, following: int, types: frozenset[str] | None) -> None:
        self.id = f"sub-{next(_numbers)}"
        self._service = service
        self._session = session
        self._following = following
        self._types = types
        self._busy = False
        self._closed = False

    def close(self) -> None:
        """Ends the subscription: nothing more is sent."""
        self._closed = True

    def tail_moved(self) -> None:
        """Sends what is new. Called on the loop, after every commit and when the client reads again."""
        if not (self._busy or self._closed):
            self._pump()

    def _pump(self) -> None:
        while not self._closed and self._session.writable and self._following <= self._service.tail.seq:
            behind = self._service.tail.seq - self._following + 1
            events = self._service.tail.events_from(self._following)
            if events is None and behind > GAP_EVENTS:
                self._send_gap()
            elif events is None:
                self._busy = True
                self._session.start_soon(self._catch_up)
                return
            elif not events:
                return
            else:
                self._send(events[:NOTIFICATION_EVENTS_MAX])

    async def _catch_up(self) -> None:
        try:
            async with self._service.tail.catching_up:
                if self._closed or not self._session.writable:
                    return  # the connection is full; `tail_moved` is called when the client reads again
                events = await self._service.threads.run(
                    self._service.read_events, self._following, NOTIFICATION_EVENTS_MAX
                )
        except (LogError, OSError) as error:
            # A damaged log must not end the connection: the subscriber gets a gap.
            logger.warning("events for %s cannot be read: %s", self.id, error)
            events = []
        finally:
            self._busy = False
        if self._closed or not self._session.writable:
            return
        if events:
            self._send(events)
        else:
            self._send_gap()
        self._pump()

    def _send(self, events: list[Event]) -> None:
        self._following = events[-1].seq + 1
        wanted = [event for event in events if self._types is None or event.type in self._types]
        if wanted:
            self._session.send(
                notification(
                    "workspaced/event",
                    {"subscription": self.id, "events": wanted, "clock": self._clock_at(self._following - 1)},
                )
            )

    def _send_gap(self) -> None:
        first, last = self._following, self._service.tail.seq
        self._following = last + 1
        self._session.send(
            notification(
                "workspaced/gap",
                {"subscription": self.id, "from": first, "to": last, "clock": self._clock_at(last)},
            )
        )

    def _clock_at(self, seq: int) -> str:
        return f"{self._service.log.log_id}:{seq}"
