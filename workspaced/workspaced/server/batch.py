"""A batch of MCP 2025-03-26: several messages on one line, whose answers go out together on another."""

from collections.abc import Set as AbstractSet

import msgspec

from ..errors import RequestError
from ..ipc.jsonrpc import (
    Request,
    RequestId,
    error_response,
    is_response,
    parse_batch,
    parse_request,
    readable_ids,
)


class Batch:
    """Answers are gathered until no request is open."""

    def __init__(self, line: bytes, waited_for: AbstractSet[RequestId | None]) -> None:
        """
        Args:
            waited_for: the ids of other batches' open requests.

        Raises:
            RequestError: it is no batch.
        """
        self.messages: list[Request] = []
        self.answers: list[bytes] = []
        self.ids: list[RequestId] = []
        """Of the open requests."""
        for message in parse_batch(line):
            try:
                self._add(parse_request(message), waited_for)
            except RequestError as error:
                if not is_response(message):
                    self.answers.append(error_response(next(iter(readable_ids(message)), None), error))
        self.open = len(self.ids)

    def _add(self, request: Request, waited_for: AbstractSet[RequestId | None]) -> None:
        if request.method == "initialize":
            raise RequestError("INVALID_REQUEST", "initialize stands in no batch.", hint="Send it by itself.")
        if not isinstance(request.id, msgspec.UnsetType):
            if request.id in self.ids or request.id in waited_for:
                raise RequestError(
                    "INVALID_REQUEST", "Two open requests have one id.", hint="Give each an id of its own."
                )
            self.ids.append(request.id)
        self.messages.append(request)

    @property
    def line(self) -> bytes:
        """The line with all answers, in the order in which they were ready."""
        return b"[" + b",".join(each.rstrip(b"\n") for each in self.answers) + b"]\n"
