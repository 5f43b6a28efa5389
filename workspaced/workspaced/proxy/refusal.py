"""What the proxy answers by itself, in a form that the SDKs of all providers read."""

from typing import Any

import msgspec

from ..web.refusal import Refused


class Refusal(Refused):
    """A request that the proxy answers itself."""

    @property
    def body(self) -> bytes:
        error: dict[str, Any] = {"type": "workspaced_error", "code": self.code}
        return msgspec.json.encode(
            {"type": "error", "error": {**error, "message": self.message, "hint": self.hint}}
        )
