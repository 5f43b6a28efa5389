"""Who may look: a program that has the token, on a page of this machine's own.

Any program of any user, and any page in a browser, can reach a port of the loopback interface. The token keeps
them out; the exact check of `Host` stops a page whose name was made to point here (DNS rebinding), and that of
`Origin` one that sends requests from elsewhere.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from .refusal import Refusal, refusal_messages

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_TOKEN_BYTES: Final = 32
_API: Final = "/api/"
_OWN_SITES: Final = (b"same-origin", b"none")
_HEADERS: Final = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }.items()
)


def new_token() -> str:
    """A random token of 256 bits."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


class Access:
    """ASGI middleware: passes on a request that may look, refuses any other, and gives all answers their headers.

    The page itself and its files hold no data, so they need no token: only the right `Host`.
    """

    def __init__(self, application: Application, token: str, port: int) -> None:
        self._application = application
        self._bearer = f"Bearer {token}".encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in _HEADERS}
                message["headers"] = [each for each in message["headers"] if each[0].lower() not in own]
                message["headers"] += _HEADERS
            await send(message)

        try:
            self._check(scope)
        except Refusal as refusal:
            for message in refusal_messages(refusal):
                await send_with_headers(message)
            return
        await self._application(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        """
        Raises:
            Refusal: the request may not look.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if not self._hosts.issuperset(hosts := _all(headers, b"host")) or len(hosts) != 1:
            raise Refusal(
                403,
                "FOREIGN_HOST",
                "The request was sent to another name than this machine's own.",
                "Use the address that `workspaced inspect` prints.",
            )
        origins = _all(headers, b"origin")
        if not self._origins.issuperset(origins):
            raise Refusal(
                403, "FOREIGN_ORIGIN", "The request comes from another page.", "Open the inspector's own page."
            )
        if not scope["path"].startswith(_API):
            return
        if not origins and not set(_OWN_SITES).issuperset(_all(headers, b"sec-fetch-site")):
            raise Refusal(
                403, "FOREIGN_ORIGIN", "The request comes from another site.", "Open the inspector's own page."
            )
        bearers = _all(headers, b"authorization")
        if len(bearers) != 1 or not hmac.compare_digest(bearers[0], self._bearer):
            raise Refusal(
                401,
                "TOKEN_WRONG",
                "The request has no token of this inspector, or a wrong one.",
                "Open the address that `workspaced inspect` printed, with its #token=; "
                "programs send it as `Authorization: Bearer`.",
            )


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]
