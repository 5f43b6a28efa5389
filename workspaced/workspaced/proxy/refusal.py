"""What the proxy answers by itself, in a form that the SDKs of all providers read."""

from typing import Any

import msgspec


class Refusal(Exception):
    """A request that the proxy answers itself, with a status of HTTP, a code, what is wrong, and the next step."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def body(self) -> bytes:
        error: dict[str, Any] = {"type": "workspaced_error", "code": self.code}
        return msgspec.json.encode(
            {"type": "error", "error": {**error, "message": self.message, "hint": self.hint}}
        )
