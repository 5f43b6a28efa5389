"""`Method`: one method of the API with its parameters, its handler, and whether clients may cache the result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ..ipc.jsonrpc import RequestId
from .session import Session

DEFERRED: Final = object()
"""A handler returns this if it answers later, by `Session.answer` or `Session.fail`."""


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a table of methods."""

    params: Any
    handler: Callable[[Session, RequestId | None, Any], Any]
    cache: dict[str, Any] | None = None
    """The fields that MCP 2026-07-28 adds to the result: how long it may be cached, and by which clients."""
    works_paused: bool = False
    """Whether it answers while the user has paused the workspace; all other methods answer PAUSED. True for
    methods that administer the daemon or read the log, and for those that see to the pause themselves."""
    decode: Callable[[bytes], Any] = field(init=False)
    """Decodes JSON to `params`; raises msgspec's errors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decode", msgspec.json.Decoder(self.params).decode)
