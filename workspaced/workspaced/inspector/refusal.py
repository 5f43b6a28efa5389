"""Requests that get an error: its status, code, what is wrong and the next step, as JSON."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from workspaced_events.errors import WorkspacedError

from ..web.loopback_server import Refused

_STATUS: Final = {
    "BUSY": 409,
    "NOT_RECORDED": 404,
    "UNKNOWN_PATH": 404,
    "NOT_ALLOWED": 403,
    "INTERNAL": 500,
}


class Refusal(Refused):
    """A request that gets an error."""

    @property
    def body(self) -> bytes:
        """Its JSON: `{"error": {code, message, hint}}`."""
        error = {"code": self.code, "message": self.message, "hint": self.hint}
        return msgspec.json.encode({"error": error})


def refusal_of(error: WorkspacedError) -> Refusal:
    """An error of ours as an answer."""
    return Refusal(_STATUS.get(error.code, 400), error.code, error.message, error.hint)


def refusal_messages(refusal: Refusal) -> Iterator[dict[str, Any]]:
    """The messages of ASGI that answer with a refusal."""
    headers = [(b"content-type", b"application/json")]
    yield {"type": "http.response.start", "status": refusal.status, "headers": headers}
    yield {"type": "http.response.body", "body": refusal.body}
