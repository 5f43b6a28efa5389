"""The process that holds the connection: `python -m workspaced.peers.carrying.process DESCRIPTOR`.

It has no access to the log or the keys, and a bound on its memory. A client library reads whatever length a server
announces: one frame of 300 MiB took it to 926 MB. Here that ends this process alone, with `MEMORY_EXIT`.

Deliveries of a stream are what a consumer of the server's sends, in order, without a gap that goes unnoticed. The
library's ordered consumer skipped messages without an error after a server had lost its newest ones. Here a gap, a
silence or a sequence that goes back ends the deliveries with an error, and who asked begins anew.
"""

import asyncio
import logging
import os
import random
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Literal, NamedTuple

from nats.aio.msg import Msg
from nats.errors import NotJSMessageError

from ...limits import CARRIED_BYTES_MAX
from ..carrier import Carried, CarrierError
from .connection import Connection, connect
from .server_errors import away, misbehaves, not_acknowledged
from .wire import (
    MEMORY_EXIT,
    Answer,
    Ask,
    Cancel,
    Done,
    Failed,
    Message,
    Open,
    Publish,
    State,
    frame,
    receive,
    requests,
)

_CARRIER_READ_MESSAGES_MAX: Final = 8_192
"""Of one subject."""
_CARRIER_SUBJECTS_MAX: Final = 16_384
_CARRIER_READ_BYTES_MAX: Final = 64 * 1024 * 1024
_CARRIER_MEMORY_BYTES: Final = 256 * 1024 * 1024
"""Address space that the process of the connection may take beyond what it has when it starts."""
_CARRIER_RETRY_S_MAX: Final = 30.0
"""Pauses between attempts to connect: each is twice the last one."""
_CARRIER_RETRY_S_MIN: Final = 0.1
_CARRIER_PENDING_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of deliveries that wait in that process, twice what a server sends ahead; later ones are dropped, and missed."""
_CARRIER_HEARTBEAT_S: Final = 2.0
"""How often the server tells who listens that it is there; deliveries have stopped after the third silence."""
SILENCE_S = 3 * _CARRIER_HEARTBEAT_S
Which = Literal["all", "last_per_subject"]


class Process:
    """Serves one daemon until its socket closes."""

    def __init__(self, opened: Open, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._opened = opened
        self._reader = reader
        self._writer = writer
        self._connection: Connection | None = None
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._reported: CarrierError | None = None
        """The last report, which is not repeated."""

    async def run(self) -> None:
        connecting = asyncio.get_running_loop().create_task(self._stay_connected())
        try:
            while (request := await receive(self._reader, requests)) is not None:
                if isinstance(request, Cancel):
                    if request.id in self._asked:
                        self._asked[request.id].cancel()
                elif isinstance(request, Publish | Ask):
                    task = asyncio.get_running_loop().create_task(self._answer(request))
                    self._asked[request.id] = task
                    task.add_done_callback(partial(self._forget, request.id))
        finally:
            connecting.cancel()
            if self._connection is not None:
                await self._connection.close()

    def _forget(self, number: int, _task: "asyncio.Task[None]") -> None:
        del self._asked[number]

    # -- the connection --

    async def _stay_connected(self) -> None:
        """Connects to any of the servers, again and again, for as long as the process lives."""
        pause_s = _CARRIER_RETRY_S_MIN
        while True:
            for server in random.sample(self._opened.servers, len(self._opened.servers)):
                try:
                    self._connection = await connect(self._opened, server, self._report)
                except CarrierError as error:
                    self._report(error)
                    continue
                pause_s, self._reported = _CARRIER_RETRY_S_MIN, None
                self._tell(State("connected"))
                await self._connection.lost.wait()
                self._tell(State("away"))
                await self._connection.close()
                break
            else:
                self._tell(State("away"))
            await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
            pause_s = min(2 * pause_s, _CARRIER_RETRY_S_MAX)

    def _report(self, error: CarrierError) -> None:
        if self._reported is None or self._reported.message != error.message:
            self._reported = error
            self._tell(Failed(None, error.code, error.message, error.hint))

    def failed(self, error: BaseException | None) -> None:
        """Something failed on which nobody waits: most often the library's reader."""
        if isinstance(error, MemoryError):
            os._exit(MEMORY_EXIT)
        self._report(misbehaves(f"What the server sent cannot be understood: {error!r:.200}."))
        if self._connection is not None:
            self._connection.lost.set()

    # -- requests --

    async def _answer(self, request: Publish | Ask) -> None:
        try:
            self._tell(Done(request.id, await self._while_connected(request)))
        except CarrierError as error:
            self._tell(Failed(request.id, error.code, error.message, error.hint))
        except MemoryError:
            os._exit(MEMORY_EXIT)
        except Exception as error:
            refusal = misbehaves(f"What the server sent cannot be understood: {error!r:.200}.")
            self._tell(Failed(request.id, refusal.code, refusal.message, refusal.hint))

    async def _while_connected(self, request: Publish | Ask) -> int:
        connection = self._connection
        if connection is None or connection.lost.is_set():
            raise away("There is no connection to a server.")
        doing = asyncio.ensure_future(self._do(connection, request))
        losing = asyncio.ensure_future(connection.lost.wait())
        try:
            await asyncio.wait({doing, losing}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            lost = "The connection was lost."
            if isinstance(request, Publish):
                raise not_acknowledged(lost)
            if request.what != "listen":
                raise away(lost)
            return 0
        finally:
            losing.cancel()
            doing.cancel()
            with suppress(BaseException):  # it is over: either its result was taken, or nobody wants it
                await doing

    async def _do(self, connection: Connection, request: Publish | Ask) -> int:
        if isinstance(request, Publish):
            return await connection.publish(request.subject, request.data, request.after, request.begins)
        async for each in _messages(connection, request):
            self._tell(Message(request.id, each))
            await self._writer.drain()
        return 0

    def _tell(self, answer: Answer) -> None:
        self._writer.write(frame(answer))


def _messages(connection: Connection, request: Ask) -> AsyncIterator[Carried]:
    match request.what:
        case "last":
            return _last(connection, request.subject)
        case "read":
            return _read(connection, request.subject)
        case "subjects":
            return _subjects(connection)
        case "listen":
            return _listen(connection)


async def _last(connection: Connection, subject: str) -> AsyncIterator[Carried]:
    if (found := await connection.last(subject)) is not None:
        yield found


async def _read(connection: Connection, subject: str) -> AsyncIterator[Carried]:
    """Up to the message that is the last one now. A replica that is behind is waited for."""
    if (until := await connection.last(subject)) is None:
        return
    count, size = 0, 0
    async with deliveries(connection, connection.subject(subject), "all") as delivered:
        async for message, pending in delivered:
            if message is None:
                continue
            count, size = count + 1, size + len(message.data)
            if count > _CARRIER_READ_MESSAGES_MAX or size > _CARRIER_READ_BYTES_MAX:
                raise misbehaves(f"A subject has over {count - 1} messages or {_CARRIER_READ_BYTES_MAX} bytes.")
            yield message
            if pending == 0 and message.sequence >= until.sequence:
                return


async def _subjects(connection: Connection) -> AsyncIterator[Carried]:
    count = 0
    subjects = connection.subject(">")
    async with deliveries(connection, subjects, "last_per_subject", headers_only=True) as delivered:
        async for message, pending in delivered:
            if message is not None:
                if (count := count + 1) > _CARRIER_SUBJECTS_MAX:
                    raise misbehaves(f"The link has over {_CARRIER_SUBJECTS_MAX} subjects.")
                yield message
            if pending == 0:
                return


async def _listen(connection: Connection) -> AsyncIterator[Carried]:
    try:
        async with deliveries(connection, connection.subject(">"), "last_per_subject") as delivered:
            async for message, _ in delivered:
                if message is not None:
                    yield message
    except DeliveriesEnded:
        return


# -- deliveries --


class DeliveriesEnded(CarrierError):
    """Messages are missing, or the server fell silent: what it has must be asked for again."""

    def __init__(self, message: str) -> None:
        super().__init__("AWAY", message, "They are asked for again.")


class Delivery(NamedTuple):
    """A message; None while the server has nothing to deliver."""

    message: Carried | None
    pending: int
    """How many more messages the server had when it sent this one."""


@asynccontextmanager
async def deliveries(
    connection: Connection, subject: str, which: Which, *, headers_only: bool = False
) -> AsyncIterator[AsyncIterator[Delivery]]:
    """What the stream has of a subject of the server, which may have a wildcard, then what comes; without an end.

    Raises:
        CarrierError: also while iterating: DeliveriesEnded after a gap or a silence.
    """
    waiting: asyncio.Queue[Msg] = asyncio.Queue(64)
    inbox = connection.client.new_inbox()
    subscription = await connection.client.subscribe(
        inbox,
        cb=waiting.put,
        pending_msgs_limit=_CARRIER_READ_MESSAGES_MAX,
        pending_bytes_limit=_CARRIER_PENDING_BYTES_MAX,
    )
    try:
        name = token_hex(8)
        config = {
            "name": name,
            "deliver_subject": inbox,
            "deliver_policy": which,
            "filter_subject": subject,
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "headers_only": headers_only,
            "flow_control": True,
            "idle_heartbeat": int(_CARRIER_HEARTBEAT_S * 1e9),
            "mem_storage": True,
            "num_replicas": 1,
        }
        made = await connection.ask(
            f"CONSUMER.CREATE.{connection.stream}.{name}.{subject}",
            {"stream_name": connection.stream, "config": config, "action": "create"},
        )
        yield _delivered(connection, waiting, _count(made.get("num_pending")))
    finally:
        with suppress(
            Exception
        ):  # of a connection that is lost; the server forgets a consumer without a subscriber
            await subscription.unsubscribe()


async def _delivered(
    connection: Connection, waiting: "asyncio.Queue[Msg]", pending: int
) -> AsyncIterator[Delivery]:
    if pending == 0:
        yield Delivery(None, 0)
    received, latest = 0, 0
    while True:
        try:
            async with asyncio.timeout(SILENCE_S):
                message = await waiting.get()
        except TimeoutError:
            raise DeliveriesEnded("The server stopped delivering.") from None
        status = (message.headers or {}).get("Status")
        if status is not None:
            if status != "100":
                raise DeliveriesEnded(f"The server ended its deliveries with status {status[:10]}.")
            await _go_on(connection, message)
            if message.reply:
                continue
            if (message.headers or {}).get("Nats-Last-Consumer") not in (None, str(received)):
                raise DeliveriesEnded("Deliveries of the server are missing.")
            yield Delivery(None, 0)
            continue
        carried, number, pending = _read_delivery(connection, message)
        if number != received + 1 or carried.sequence <= latest:
            raise DeliveriesEnded("Deliveries of the server are missing.")
        received, latest = number, carried.sequence
        yield Delivery(carried, pending)


async def _go_on(connection: Connection, message: Msg) -> None:
    """Answers the server's flow control: it sends more when it sees that we read. Nothing else is answered."""
    for subject in (message.reply, (message.headers or {}).get("Nats-Consumer-Stalled")):
        if subject and subject.startswith("$JS.FC."):
            await connection.client.publish(subject)


def _read_delivery(connection: Connection, message: Msg) -> tuple[Carried, int, int]:
    try:
        known = message.metadata
    except (NotJSMessageError, ValueError, OverflowError, IndexError):
        raise misbehaves("The server delivered a message without saying where it is in the stream.") from None
    if len(message.data) > CARRIED_BYTES_MAX:
        raise misbehaves(f"The server delivered a message of {len(message.data)} bytes.")
    carried = Carried(connection.name(message.subject), known.sequence.stream, message.data)
    return carried, known.sequence.consumer, known.num_pending


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise misbehaves("The server does not say how many messages it has.")
    return value


# -- the process --


class _ReaderFailed(logging.Handler):
    """The library only logs that its reader failed, and then reads no more."""

    def __init__(self, process: Process) -> None:
        super().__init__(logging.ERROR)
        self._process = process

    def emit(self, record: logging.LogRecord) -> None:
        self._process.failed(record.exc_info[1] if record.exc_info else None)


def _bound_memory() -> None:
    """Bounds the address space, where the system can: macOS ignores it."""
    import resource

    with suppress(ValueError, OSError):
        pages = Path("/proc/self/statm").read_text().split()[0] if sys.platform == "linux" else 0
        bytes_max = int(pages) * resource.getpagesize() + _CARRIER_MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max))


async def _main(descriptor: int) -> None:
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=descriptor))
    opened = await receive(reader, requests)
    if not isinstance(opened, Open):
        return
    process = Process(opened, reader, writer)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: process.failed(context.get("exception")))
    library = logging.getLogger("nats")
    library.addHandler(_ReaderFailed(process))
    library.propagate = False
    await process.run()


if __name__ == "__main__":
    _bound_memory()
    try:
        asyncio.run(_main(int(sys.argv[1])))
    except MemoryError:
        os._exit(MEMORY_EXIT)
