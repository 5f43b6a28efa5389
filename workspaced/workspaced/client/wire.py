"""The client side of the protocol: encodes requests, decodes answers and notifications. No sockets here."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from workspaced_events.ids import uuid7

from ..__about__ import __version__
from ..errors import NoDaemon, RemoteError, RequestError
from ..limits import REQUEST_BYTES_MAX, UPLOAD_PART_CHARS


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    id: int | str | None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | None = None


class Notice(msgspec.Struct, frozen=True):
    """A notification from the daemon."""

    method: str
    params: dict[str, Any]


class _Incoming(msgspec.Struct, frozen=True):
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | None = None


_INCOMING: Final = msgspec.json.Decoder(_Incoming)
_ENCODER: Final = msgspec.json.Encoder()


def request_line(request_id: int, method: str, params: Any) -> bytes:
    """Encodes a request as a line.

    Raises:
        RequestError: LINE_TOO_LARGE, since the daemon would close the connection; INVALID_ARGUMENT if a text holds
            half a character, as no JSON does.
    """
    try:
        line = _ENCODER.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
    except UnicodeEncodeError as error:
        raise RequestError(
            "INVALID_ARGUMENT",
            f"A text holds half a character (a lone surrogate) at {error.start}.",
            hint="It is not UTF-8, or was cut within a character: read or cut it otherwise.",
        ) from None
    if len(line) > REQUEST_BYTES_MAX:
        raise RequestError(
            "LINE_TOO_LARGE",
            f"The request is {len(line)} bytes long; the daemon takes {REQUEST_BYTES_MAX}.",
            hint="Send a long text with `upload` first; attach a large file of the vault as a note, which the "
            "daemon reads itself.",
        )
    return line + b"\n"


def upload_parts(text: str) -> Iterator[dict[str, Any]]:
    """The parameters of `workspaced/blob/put` for each part of a text too long for one line."""
    upload = uuid7()
    for begin in range(0, max(1, len(text)), UPLOAD_PART_CHARS):
        end = begin + UPLOAD_PART_CHARS
        yield {"upload": upload, "text": text[begin:end], "last": end >= len(text)}


def hello_params(name: str) -> dict[str, Any]:
    """This client's description for hello."""
    return {"client": {"name": name, "version": __version__, "pid": os.getpid()}}


def parse_line(line: bytes) -> Answer | Notice:
    """Decodes one line from the daemon.

    Raises:
        NoDaemon: the other end does not speak the protocol.
    """
    try:
        incoming = _INCOMING.decode(line)
    except msgspec.MsgspecError as error:
        raise NoDaemon(f"The other end of the socket does not speak workspaced's protocol: {error}.") from None
    if incoming.method is not None:
        return Notice(incoming.method, msgspec.json.decode(incoming.params))
    request_id = None if incoming.id is msgspec.UNSET else incoming.id
    return Answer(request_id, incoming.result, incoming.error)


def unwrap(answer: Answer, server: Mapping[str, Any]) -> Any:
    """Returns the result as JSON values; `server` is the daemon's answer to hello.

    Raises:
        RemoteError: the daemon refused; holds its code, hint and details.
    """
    if answer.error is not None:
        data = dict(answer.error.get("data") or {})
        code, hint = str(data.pop("code", "INTERNAL")), str(data.pop("hint", ""))
        details = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): value for name, value in data.items()}
        error = RemoteError(code, str(answer.error.get("message", "")), hint=hint, **details)
        if error.code == "UNKNOWN_METHOD":
            error.hint = _versions(server) + error.hint
        raise error
    return msgspec.json.decode(answer.result) if answer.result is not msgspec.UNSET else None


def _versions(server: Mapping[str, Any]) -> str:
    """Names both versions for a hint: an older daemon may still run after an update."""
    daemon = server.get("version", "unknown")
    return (
        f"The daemon is version {daemon}, this client {__version__}: if it is older, `workspaced stop` ends it. "
    )
