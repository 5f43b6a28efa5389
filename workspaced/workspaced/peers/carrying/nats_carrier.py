"""`Carrier` over a NATS server: starts the process that holds the connection, and starts it again when it dies."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import msgspec

from workspaced_events.interpreter import own_module

from ...limits import CARRIED_BYTES_MAX, CARRIER_ANSWER_S, CARRIER_CONNECT_S, STOP_S
from ...settings.link import LinkSettings, TlsSettings
from ..carrier import Carried, CarrierError, CarrierState, SubjectName
from .server_errors import away, misbehaves, not_acknowledged
from .wire import (
    MEMORY_EXIT,
    Answer,
    Ask,
    Cancel,
    Done,
    Message,
    Open,
    Publish,
    State,
    answers,
    frame,
    receive,
)

_CARRIER_MISBEHAVED_S: Final = 60.0
"""The same after one that the server brought to its memory limit."""
_CARRIER_RESTART_S: Final = 1.0
"""Pause before a process that died is started again."""
_CARRIER_REPORTS_MAX: Final = 64
"""Reports that nobody has read yet; later ones are dropped."""
PATIENCE_S: Final = 2 * CARRIER_ANSWER_S
"""The process answers within half of it, as long as it works."""
GATHER_S: Final = 60.0
"""For all messages of a subject, or all subjects."""
Arrived = Callable[[Carried], None]


class _Waiting(NamedTuple):
    """A request that is not answered yet."""

    arrived: Arrived
    done: asyncio.Future[int]
    lost: CarrierError | None
    """What it fails with when the process dies; None: it returns."""


@asynccontextmanager
async def nats_carrier(settings: LinkSettings, link: str) -> "AsyncIterator[NatsCarrier]":
    """A carrier for the messages of one link, which connects at once and again for as long as it is open.

    Args:
        settings: has at least one server.
        link: the random name of the link on the server, 32 hexadecimal digits.
    """
    carrier = NatsCarrier(opened(settings, link))
    async with anyio.create_task_group() as group:
        group.start_soon(carrier.run)
        try:
            yield carrier
        finally:
            await carrier.aclose()


def opened(settings: LinkSettings, link: str) -> Open:
    """What a connection is opened with."""
    assert settings.servers, "a link needs servers"

    def path(value: Path | None) -> str | None:
        return None if value is None else str(value.expanduser())

    tls = settings.tls or TlsSettings()
    return Open(
        link,
        settings.servers,
        settings.stream,
        settings.domain,
        path(settings.credentials),
        path(tls.authorities),
        path(tls.certificate),
        path(tls.key),
    )


class NatsCarrier:
    """A `Carrier`, made by `nats_carrier`."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened
        self._state: CarrierState = "connecting"
        self._settled = asyncio.Event()
        """The first attempt to connect is over."""
        self._closed = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        """To the process, while there is one."""
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0
        self._reports: asyncio.Queue[CarrierError | None] = asyncio.Queue()
        """None: the carrier is closed."""
        self._misbehaved: CarrierError | None = None
        """Why there is no process, if the server brought the last one to its limit."""

    # -- the port --

    @property
    def state(self) -> CarrierState:
        return self._state

    async def publish(self, subject: SubjectName, data: bytes, *, after: int, begins: bool) -> int:
        if len(data) > CARRIED_BYTES_MAX:
            raise CarrierError("FULL", f"A message has {len(data)} bytes; {CARRIED_BYTES_MAX} are allowed.")
        request = Publish(self._next(), subject, data, after, begins)
        return await self._ask(request, _nothing, not_acknowledged("The connection was lost."), PATIENCE_S)

    async def last(self, subject: SubjectName) -> Carried | None:
        return next(iter(await self._gather(Ask(self._next(), "last", subject), PATIENCE_S)), None)

    async def read(self, subject: SubjectName) -> list[Carried]:
        return await self._gather(Ask(self._next(), "read", subject), GATHER_S)

    async def subjects(self) -> dict[SubjectName, int]:
        found = await self._gather(Ask(self._next(), "subjects"), GATHER_S)
        return {each.subject: each.sequence for each in found}

    async def listen(self, arrived: Arrived) -> None:
        await self._ask(Ask(self._next(), "listen"), arrived, None, None)

    async def reports(self) -> AsyncIterator[CarrierError]:
        while (report := await self._reports.get()) is not None:
            yield report

    async def aclose(self) -> None:
        self._closed.set()
        self._reports.put_nowait(None)
        self._lose()

    # -- requests --

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _gather(self, request: Ask, patience_s: float) -> list[Carried]:
        gathered: list[Carried] = []
        await self._ask(request, gathered.append, away("The connection was lost."), patience_s)
        return gathered

    async def _ask(
        self, request: Publish | Ask, arrived: Arrived, lost: CarrierError | None, patience_s: float | None
    ) -> int:
        writer = await self._connected()
        waiting = _Waiting(arrived, asyncio.get_running_loop().create_future(), lost)
        self._waiting[request.id] = waiting
        try:
            writer.write(frame(request))
            done, _ = await asyncio.wait({waiting.done}, timeout=patience_s)
            if not done:
                writer.close()  # the process does not work any more: another one is started
                raise lost or away("The process of the connection does not answer.")
            return waiting.done.result()
        finally:
            del self._waiting[request.id]
            if not waiting.done.done():
                waiting.done.cancel()
                writer.write(frame(Cancel(request.id)))

    async def _connected(self) -> asyncio.StreamWriter:
        if self._state == "connecting" and not self._closed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(CARRIER_CONNECT_S):
                    await self._settled.wait()
        if self._misbehaved is not None:
            raise self._misbehaved
        if self._state != "connected" or self._writer is None or self._writer.is_closing():
            raise away("There is no connection to a server.")
        return self._writer

    # -- the process --

    async def run(self) -> None:
        """Keeps a process alive until the carrier is closed."""
        while not self._closed.is_set():
            code = await self._live()
            if self._closed.is_set():
                return
            pause_s = _CARRIER_RESTART_S
            if code == MEMORY_EXIT:
                self._misbehaved = misbehaves("The server sent more than the connection may hold in memory.")
                pause_s = _CARRIER_MISBEHAVED_S
            self._report(self._misbehaved or away(f"The process of the connection ended with code {code}."))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._closed.wait()

    async def _live(self) -> int:
        """The life of one process; returns its exit code."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *own_module("workspaced.peers.carrying.process", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
            )
        try:
            reader, self._writer = await asyncio.open_connection(sock=ours)
            self._misbehaved = None
            self._writer.write(frame(self._opened))
            await self._receive(reader)
        finally:
            self._lose()
            with anyio.CancelScope(shield=True):
                code = await _ended(process)
        return code

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        try:
            while (answer := await receive(reader, answers)) is not None:
                self._take(answer)
        except (ValueError, msgspec.MsgspecError) as error:
            self._report(misbehaves(f"The process of the connection sent what is no answer: {error}."))

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, State):
            self._state = answer.state
            self._settled.set()
        elif answer.id is None:
            self._report(CarrierError(answer.code, answer.message, answer.hint))
        elif (waiting := self._waiting.get(answer.id)) is None or waiting.done.done():
            pass  # it was cancelled
        elif isinstance(answer, Message):
            try:
                waiting.arrived(answer.carried)
            except Exception as error:  # of who listens: it is theirs
                waiting.done.set_exception(error)
        elif isinstance(answer, Done):
            waiting.done.set_result(answer.sequence)
        else:
            waiting.done.set_exception(CarrierError(answer.code, answer.message, answer.hint))

    def _report(self, error: CarrierError) -> None:
        if self._reports.qsize() < _CARRIER_REPORTS_MAX:
            self._reports.put_nowait(error)

    def _lose(self) -> None:
        """There is no process any more, or it is not wanted."""
        self._state = "away"
        self._settled.set()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for waiting in self._waiting.values():
            if waiting.done.done():
                continue
            if waiting.lost is None:
                waiting.done.set_result(0)
            else:
                waiting.done.set_exception(waiting.lost)


def _nothing(_message: Carried) -> None:
    """A publish is answered by no messages."""


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Its exit code, once it has seen the end of its socket; otherwise it is killed."""
    try:
        async with asyncio.timeout(STOP_S / 2):
            return await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()
