"""What a daemon and the process that holds its connection tell each other over a socketpair.

Frames are MessagePack behind their length, 4 bytes big-endian. The daemon sends `Open` first, then requests with
numbers of its own. A request is answered by any number of `Message`, then by `Done` or `Failed`; one that is
cancelled may still be answered. The process sends `State`, and `Failed` for no request, at any time; it ends with
the socket.
"""

import asyncio
import struct
from typing import Final, Literal, TypeVar

import msgspec

from ...limits import CARRIER_PIPE_FRAME_BYTES_MAX
from ..carrier import Carried, CarrierState, SubjectName

MEMORY_EXIT: Final = 71
"""The exit code of a process that reached its memory limit."""
_LENGTH: Final = struct.Struct(">I")


class Open(msgspec.Struct, frozen=True, tag=True):
    link: str
    servers: tuple[str, ...]
    stream: str
    domain: str | None = None
    credentials: str | None = None
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None


class Publish(msgspec.Struct, frozen=True, tag=True):
    id: int
    subject: SubjectName
    data: bytes
    after: int
    begins: bool


class Ask(msgspec.Struct, frozen=True, tag=True):
    """`last`, `read`, `subjects` and `listen` are answered by messages; of `subjects`, without their data."""

    id: int
    what: Literal["last", "read", "subjects", "listen"]
    subject: SubjectName = ""


class Cancel(msgspec.Struct, frozen=True, tag=True):
    id: int


class Message(msgspec.Struct, frozen=True, tag=True):
    id: int
    carried: Carried


class Done(msgspec.Struct, frozen=True, tag=True):
    id: int
    sequence: int = 0
    """Of what was published."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    id: int | None
    """Of the request; None: what the server reports by itself."""
    code: str
    message: str
    hint: str = ""


class State(msgspec.Struct, frozen=True, tag=True):
    state: CarrierState


Request = Open | Publish | Ask | Cancel
Answer = Message | Done | Failed | State
T = TypeVar("T")

requests: Final = msgspec.msgpack.Decoder(Request)
answers: Final = msgspec.msgpack.Decoder(Answer)
_encoder: Final = msgspec.msgpack.Encoder()


def frame(value: Request | Answer) -> bytes:
    """The bytes of one frame."""
    data = _encoder.encode(value)
    return _LENGTH.pack(len(data)) + data


async def receive(reader: asyncio.StreamReader, decoder: "msgspec.msgpack.Decoder[T]") -> T | None:
    """The next frame; None at the end of the socket.

    Raises:
        ValueError: what came is no frame.
    """
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > CARRIER_PIPE_FRAME_BYTES_MAX:
            raise ValueError(f"a frame of {length} bytes")
        return decoder.decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
