"""`LiveTraces`: hands the events that spans are made of to a process that sends them.

The process has the receiver's slowness, the memory of the libraries and the work of making spans to itself. The
daemon writes to it and never waits: what its socket does not take is dropped and counted.
"""

import asyncio
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
import msgspec

from workspaced_events.interpreter import own_module
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import encode_batch

from ..errors import PackageMissing
from ..settings.settings import TracesSettings, check_packages
from .spans import TEXT_TYPES, TYPES
from .wire import Count, Start, TextsFrom

GATHER_S: Final = 1.0
"""How long events wait for others, to be sent together."""
_WAITING_MAX: Final = 4_096
"""Events that wait to be written; of more the oldest are dropped."""
_UNREAD_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of what the process did not read yet; meanwhile events are dropped."""
_RESTART_S: Final = 5.0
"""Pause before a process that died is started again."""
_FINISH_S: Final = 1.0
"""For the last events to reach the process, which reads them whether or not a receiver takes them."""


class LiveTraces:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(self, settings: TracesSettings, log_id: str, texts: TextsFrom) -> None:
        """`texts`: counts if the settings want texts."""
        self._url = settings.otlp
        self._log_id = log_id
        self._texts = texts if settings.texts else None
        self._types = TYPES | TEXT_TYPES if settings.texts else TYPES
        self._waiting: list[Event] = []
        self._moved = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        """To the process, while there is one."""
        self._ended = Count()
        """What the processes before this one came to, and the events that reached none."""
        self._told = Count()

    def take(self, events: Sequence[Event]) -> None:
        """Takes committed events, in order."""
        if self._url is None:
            return
        made = [event for event in events if type(event.data) in self._types]
        if made:
            self._waiting += made
            if (over := len(self._waiting) - _WAITING_MAX) > 0:
                del self._waiting[:over]
                self._drop(over)
            self._moved.set()

    async def run(self) -> None:
        """Keeps a process alive until it is cancelled; returns at once if no spans are to be sent."""
        if self._url is None:
            return
        try:
            check_packages("Sending traces")
        except PackageMissing as error:
            self._ended = Count(0, 0, f"{error.message} {error.hint}")
            self._url = None
            return
        while True:
            await self._live(Start(self._url, self._log_id, self._texts))
            sent, dropped = self._ended.sent + self._told.sent, self._ended.dropped + self._told.dropped
            self._ended = Count(sent, dropped, "The process that sends them ended.")
            self._told = Count()
            await anyio.sleep(_RESTART_S)

    async def finish(self) -> None:
        """Writes the last events. The process sends them after the daemon's end."""
        if (writer := self._writer) is not None:
            self._write(writer)
            writer.close()
            with anyio.move_on_after(_FINISH_S):
                with suppress(OSError):  # it died
                    await writer.wait_closed()

    def status(self) -> dict[str, Any]:
        """The part of `workspaced/status`."""
        return {
            "otlp": self._url,
            "sent": self._ended.sent + self._told.sent,
            "dropped": self._ended.dropped + self._told.dropped,
        }

    @property
    def problem(self) -> str | None:
        """Why spans are not delivered at present."""
        return self._told.problem or self._ended.problem or None

    # -- the process --

    async def _live(self, start: Start) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - asyncio's own kills it at the loop's end
                own_module("workspaced.traces.process"),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._writer.write(msgspec.json.encode(start) + b"\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write_on, self._writer)
            with suppress(OSError):  # as at its end
                async for line in reader:
                    self._told = msgspec.json.decode(line, type=Count)
                    self._ended = Count(self._ended.sent, self._ended.dropped)
            tasks.cancel_scope.cancel()
        self._writer.close()
        self._writer = None
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)

    async def _write_on(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await self._moved.wait()
            await anyio.sleep(GATHER_S)
            self._write(writer)

    def _write(self, writer: asyncio.StreamWriter) -> None:
        events, self._waiting = self._waiting, []
        self._moved.clear()
        if writer.is_closing() or writer.transport.get_write_buffer_size() > _UNREAD_BYTES_MAX:
            self._drop(len(events))
        else:
            writer.write(encode_batch(events) + b"\n")

    def _drop(self, count: int) -> None:
        self._ended = Count(self._ended.sent, self._ended.dropped + count, self._ended.problem)
        if count and self._texts is not None and self._writer is not None:
            self._writer.close()  # it may miss that a note is withheld; the next one reads the log first
