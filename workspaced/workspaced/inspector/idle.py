"""When nobody looks any more: an inspector that was forgotten ends by itself."""

from typing import Final

import anyio

from .access import Application, Receive, Scope, Send

_API: Final = "/api/"


class Idle:
    """ASGI middleware: counts the requests to the API that are open, a page's tail among them."""

    def __init__(self, application: Application, after_s: float) -> None:
        """`after_s`: how long nothing may be open before `over` returns."""
        self._application = application
        self._after_s = after_s
        self._open = 0
        self._changed = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(_API):
            await self._application(scope, receive, send)
            return
        self._count(+1)
        try:
            await self._application(scope, receive, send)
        finally:
            self._count(-1)

    async def over(self) -> None:
        """Returns when nothing was open for `after_s`, counted from now at the earliest."""
        while True:
            changed = self._changed
            with anyio.move_on_after(self._after_s if self._open == 0 else None):
                await changed.wait()
                continue
            return

    def _count(self, step: int) -> None:
        self._open += step
        # Waiting starts anew only where it ends or begins: requests of an open page wake nobody.
        if self._open == 0 or (step > 0 and self._open == 1):
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
