"""What the operator of a NATS server applies for links: the stream, and the permissions of a daemon.

An operator who has no tools of the server at hand has the stream made here.
"""

from importlib.util import find_spec
from typing import Any, Final

from workspaced_events.errors import WorkspacedError

from ...errors import PackageMissing
from ...limits import CARRIED_BYTES_MAX
from ...settings.link import LinkSettings
from ..carrier import PREFIX, STREAM, CarrierError

_CARRIED_HEADER_BYTES: Final = 4_096
"""What a message on the server may have beside its bytes: the server counts both against the stream's limit."""


def stream_config() -> dict[str, Any]:
    """The stream, as JetStream's API takes it."""
    return {
        "name": STREAM,
        "subjects": [f"{PREFIX}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
        "max_msg_size": CARRIED_BYTES_MAX + _CARRIED_HEADER_BYTES,
        "max_age": 0,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msgs_per_subject": -1,
        "discard": "new",
        "duplicate_window": 100_000_000,
        "allow_rollup_hdrs": True,
        "allow_direct": False,
        "deny_delete": True,
        "deny_purge": False,
    }


def permissions() -> dict[str, list[str]]:
    """The subjects that a daemon publishes and subscribes to; it needs no others."""
    return {
        "publish": [
            f"{PREFIX}.>",
            f"$JS.API.STREAM.INFO.{STREAM}",
            f"$JS.API.STREAM.MSG.GET.{STREAM}",
            f"$JS.API.CONSUMER.CREATE.{STREAM}.>",
            "$JS.FC.>",
        ],
        "subscribe": ["_INBOX.>"],
    }


async def create_stream(settings: LinkSettings) -> None:
    """Makes the stream on the first server; changes nothing if that very stream exists.

    Raises:
        PackageMissing: the extra `nats` is not installed.
        WorkspacedError: the server cannot be reached, refuses, or has another stream of that name or subjects.
    """
    if find_spec("nats") is None:
        raise PackageMissing("Making a stream", "nats")
    from .connection import connect

    try:
        connection = await connect(settings, "", settings.servers[0], lambda _problem: None)
        try:
            await connection.ask(f"STREAM.CREATE.{STREAM}", stream_config())
        finally:
            await connection.close()
    except CarrierError as error:
        raise WorkspacedError(error.message, code=error.code, hint=error.hint) from None
