"""Who may look: a program that has the token, on a page of this machine's own.

Any program of any user, and any page in a browser, can reach a port of the loopback interface. The token keeps
them out; the exact check of `Host` stops a page whose name was made to point here (DNS rebinding), and that of
`Origin` one that sends requests from elsewhere.

Every user of the machine can read a browser's command line, as long as it runs. So what stands there is no
token but a code, which is exchanged for it once, and where the system tells only by a program of this user.

Who is refused gets an error: its status, code, what is wrong and the next step, as JSON.
"""

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

import msgspec

from workspaced_events.errors import WorkspacedError

from ..web.loopback_server import HOST, Refused, owner_of

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_TOKEN_BYTES: Final = 32
_API: Final = "/api/"
_OPEN: Final = "/open"
_ROOT: Final = 0
"""A relay between systems runs as root, as WSL's does; it reads everything anyway."""
_OWN_SITES: Final = (b"same-origin", b"none")
_PRINTED: Final = "Open the address that `workspaced inspect` printed, with its #token=."
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
_STATUS: Final = {"NOT_RECORDED": 404, "UNKNOWN_PATH": 404, "NOT_ALLOWED": 403, "INTERNAL": 500}


class Access:
    """ASGI middleware: passes on a request that may look, refuses any other, and gives all answers their headers.

    The page itself and its files hold no data, so they need no token: only the right `Host`.
    """

    def __init__(self, application: Application, port: int, at: int | str | None = None) -> None:
        """`at`: the moment that the page shows first."""
        self._application = application
        token, self._code = (secrets.token_urlsafe(_TOKEN_BYTES) for _ in range(2))
        self._is_opened = False
        self._bearer = f"Bearer {token}".encode()
        self._page = "/#" + urlencode({"token": token, **({"at": at} if at is not None else {})})
        self.address: Final = f"http://{HOST}:{port}{self._page}"
        """The page's address, token included: for its owner's eyes."""
        self.once: Final = f"http://{HOST}:{port}{_OPEN}?code={self._code}"
        """An address that opens the page once: for a browser's command line."""
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
            answer = self._opened(scope) if (scope["method"], scope["path"]) == ("GET", _OPEN) else None
        except Refusal as refusal:
            answer = refusal_messages(refusal)
        if answer is None:
            await self._application(scope, receive, send_with_headers)
            return
        for each in answer:
            await send_with_headers(each)

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
                f"{_PRINTED} Programs send its token as `Authorization: Bearer`.",
            )

    def _opened(self, scope: Scope) -> Iterable[Message]:
        """Exchanges the code for the page's address.

        Raises:
            Refusal: it is not the code, was used before, or another user's program sends it.
        """
        given = parse_qs(scope["query_string"].decode("latin-1")).get("code", [""])[0].encode()
        is_ours = owner_of(scope["client"], scope["server"]) in {None, os.getuid(), _ROOT}
        if not is_ours or not hmac.compare_digest(given, self._code.encode()):
            raise Refusal(403, "CODE_WRONG", "This is no code of yours for this inspector.", _PRINTED)
        if self._is_opened:
            raise Refusal(
                403,
                "CODE_USED",
                "The code of this address was used before.",
                f"{_PRINTED} If you have not opened it before, somebody else has: end the inspector.",
            )
        self._is_opened = True
        headers = [(b"location", self._page.encode())]
        return (
            {"type": "http.response.start", "status": 303, "headers": headers},
            {"type": "http.response.body", "body": b""},
        )


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


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
