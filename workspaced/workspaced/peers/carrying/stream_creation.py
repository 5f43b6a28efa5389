"""Makes the stream on a server, for an operator who has no tools of the server at hand."""

from importlib.util import find_spec
from typing import Any

from workspaced_events.errors import WorkspacedError

from ...errors import PackageMissing
from ..carrier import CarrierError
from ..link_settings import LinkSettings


async def create_stream(settings: LinkSettings, config: dict[str, Any]) -> None:
    """Makes the stream on the first server; changes nothing if that very stream exists.

    Args:
        config: as `stream_config` gives it.

    Raises:
        PackageMissing: the extra `nats` is not installed.
        WorkspacedError: the server cannot be reached, refuses, or has another stream of that name or subjects.
    """
    if find_spec("nats") is None:
        raise PackageMissing("Making a stream", "nats")
    from .connection import connect
    from .nats_carrier import opened

    try:
        connection = await connect(opened(settings, ""), settings.servers[0], lambda _problem: None)
        try:
            await connection.ask(f"STREAM.CREATE.{settings.stream}", config)
        finally:
            await connection.close()
    except CarrierError as error:
        raise WorkspacedError(error.message, code=error.code, hint=error.hint) from None
