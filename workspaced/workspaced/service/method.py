"""What a method of the API is: its parameters, its handler, and how it may answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ..ipc.jsonrpc import RequestId
from .session import Session

DEFERRED: Final = object()


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a table of methods."""

    params: Any
    handler: Callable[[Session, RequestId | None, Any], Any]
    cache: dict[str, Any] | None = None
    """What MCP 2026-07-28 adds to the result: how long, and by whom, it may be kept."""
    decode: Callable[[bytes], Any] = field(init=False)
    """Reads `params`; raises msgspec's errors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decode", msgspec.json.Decoder(self.params).decode)
