"""What the operator of a NATS server applies for links: the stream, and the permissions of a daemon."""

from typing import Any, Final

from ...limits import CARRIED_BYTES_MAX
from ..carrier import PREFIX
from ..link_settings import STREAM

_CARRIED_HEADER_BYTES: Final = 4_096
"""What a message on the server may have beside its bytes: the server counts both against the stream's limit."""


def stream_config(stream: str = STREAM, *, replicas: int = 1) -> dict[str, Any]:
    """The stream, as JetStream's API takes it."""
    return {
        "name": stream,
        "subjects": [f"{PREFIX}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
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


def permissions(stream: str = STREAM, domain: str | None = None) -> dict[str, list[str]]:
    """The subjects that a daemon publishes and subscribes to; it needs no others."""
    api = f"$JS.{domain}.API" if domain else "$JS.API"
    return {
        "publish": [
            f"{PREFIX}.>",
            f"{api}.STREAM.INFO.{stream}",
            f"{api}.STREAM.MSG.GET.{stream}",
            f"{api}.CONSUMER.CREATE.{stream}.>",
            "$JS.FC.>",
        ],
        "subscribe": ["_INBOX.>"],
    }
