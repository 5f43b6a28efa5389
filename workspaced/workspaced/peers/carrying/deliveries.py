"""What a stream of the server has: its messages, in order, without a gap that goes unnoticed.

The library's ordered consumer skipped messages without an error after a server had lost its newest ones. Here a
gap, a silence or a sequence that goes back ends the deliveries with an error, and who asked begins anew.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from typing import Any, Final, Literal, NamedTuple

from nats.aio.msg import Msg
from nats.errors import NotJSMessageError

from ...limits import CARRIED_BYTES_MAX
from ..carrier import STREAM, Carried, CarrierError, SubjectName
from .connection import Connection
from .server_errors import misbehaves

_CARRIER_READ_MESSAGES_MAX: Final = 8_192
"""Of one subject."""
_CARRIER_SUBJECTS_MAX: Final = 16_384
_CARRIER_READ_BYTES_MAX: Final = 64 * 1024 * 1024
_CARRIER_PENDING_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of deliveries that wait, twice what a server sends ahead; later ones are dropped, and missed."""
_CARRIER_HEARTBEAT_S: Final = 2.0
"""How often the server tells who listens that it is there; deliveries have stopped after the third silence."""
SILENCE_S = 3 * _CARRIER_HEARTBEAT_S
Which = Literal["all", "last_per_subject"]


async def read_subject(connection: Connection, subject: SubjectName) -> list[Carried]:
    """Up to the message that is the last one now. A replica that is behind is waited for."""
    found: list[Carried] = []
    if (until := await connection.last(subject)) is None:
        return found
    size = 0
    async with deliveries(connection, connection.subject(subject), "all") as delivered:
        async for message, pending in delivered:
            if message is None:
                continue
            size += len(message.data)
            if len(found) >= _CARRIER_READ_MESSAGES_MAX or size > _CARRIER_READ_BYTES_MAX:
                raise misbehaves(f"A subject has over {len(found)} messages or {_CARRIER_READ_BYTES_MAX} bytes.")
            found.append(message)
            if pending == 0 and message.sequence >= until.sequence:
                break
    return found


async def read_subjects(connection: Connection) -> dict[SubjectName, int]:
    """Every subject with the sequence of its last message."""
    found: dict[SubjectName, int] = {}
    subjects = connection.subject(">")
    async with deliveries(connection, subjects, "last_per_subject", headers_only=True) as delivered:
        async for message, pending in delivered:
            if message is not None:
                found[message.subject] = message.sequence
                if len(found) > _CARRIER_SUBJECTS_MAX:
                    raise misbehaves(f"The link has over {_CARRIER_SUBJECTS_MAX} subjects.")
            if pending == 0:
                break
    return found


async def follow(connection: Connection, arrived: Callable[[Carried], None]) -> None:
    """Calls `arrived` with the last message of each subject, then with each new one.

    Raises:
        CarrierError: always; DeliveriesEnded after a gap or a silence.
    """
    async with deliveries(connection, connection.subject(">"), "last_per_subject") as delivered:
        async for message, _ in delivered:
            if message is not None:
                arrived(message)


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
            f"CONSUMER.CREATE.{STREAM}.{name}.{subject}",
            {"stream_name": STREAM, "config": config, "action": "create"},
        )
        yield _delivered(connection, waiting, _count(made.get("num_pending")))
    finally:
        # Fails where the connection is lost; the server forgets a consumer without a subscriber.
        with suppress(Exception):
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
