"""What a server's errors mean for a link: `CarrierError` with a code that `status` shows, and the next step."""

from collections.abc import Mapping
from typing import Any, Final

from ..carrier import CarrierError

SEE_CONFIG: Final = "See `workspaced link server-config` for what the server needs."
WRONG_SEQUENCE: Final = frozenset({10071, 10164})
NO_STREAM: Final = frozenset({10035, 10039, 10058, 10059, 10060, 10065, 10076, 10111})
"""No account, JetStream is off, no such stream, another one has its name or subjects, or it allows no rollup."""
FULL: Final = frozenset({10002, 10023, 10026, 10028, 10047, 10053, 10054, 10077})
NO_MESSAGE: Final = 10037


def server_refused(error: object) -> CarrierError:
    """The error of an answer of JetStream's API, `{code, err_code, description}`."""
    known: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    number, text = known.get("err_code"), str(known.get("description", "no description"))[:200]
    if number in WRONG_SEQUENCE:
        return CarrierError("WRONG_PREDECESSOR", f"The subject's last message is another one: {text}.")
    if number in NO_STREAM:
        return CarrierError("NO_STREAM", f"The server has no usable stream: {text}.", SEE_CONFIG)
    if number in FULL:
        return CarrierError(
            "FULL", f"The server keeps no more: {text}.", "Raise the limits of the stream or account."
        )
    if known.get("code") in (500, 503):
        return away(f"The server cannot answer now: {text}.")
    return CarrierError("SERVER_MISBEHAVES", f"The server refused with error {number}: {text}.", SEE_CONFIG)


def away(message: str) -> CarrierError:
    return CarrierError(
        "AWAY", message, "Nothing is lost: everything works on, and is sent when the server is back."
    )


def not_acknowledged(message: str) -> CarrierError:
    return CarrierError("NOT_ACKNOWLEDGED", message, "It is compared with what the server has, then sent again.")


def misbehaves(message: str) -> CarrierError:
    return CarrierError("SERVER_MISBEHAVES", message, "Is it a NATS server, and yours? Look at its log.")
