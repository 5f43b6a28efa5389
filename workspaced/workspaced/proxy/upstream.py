"""The provider's side: requests go out with the headers that came, answers come back as they are."""

import logging
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx2

from ..errors import SettingsInvalid
from .access import Refusal

logger = logging.getLogger(__name__)

Headers = list[tuple[bytes, bytes]]
"""With names in lower case."""
Content = bytes | AsyncIterator[bytes] | None
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""They are about one connection, not about the request (RFC 9110, 7.6.1)."""
_NOT_SENT: Final = frozenset({b"host", b"expect", b"referer"})
"""They are about our connection, or hold our URL, and so the token."""
_OURS: Final = b"x-workspaced"
_VERSION_TWICE: Final = re.compile(rb"/(v\d[a-z0-9]*)/\1(?![^/?])")


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that go on: without those of one connection, and without ours."""
    given = [(name.lower(), value) for name, value in headers]
    named = {each.strip().lower() for name, value in given if name == b"connection" for each in value.split(b",")}
    dropped = _HOP_BY_HOP | named
    if any(name == b"transfer-encoding" for name, _ in given):
        dropped |= {b"content-length"}  # it does not count then (RFC 9112, 6.3)
    return [(name, value) for name, value in given if name not in dropped and not name.startswith(_OURS)]


class Upstream:
    """A provider below `url`, over connections that are kept open."""

    def __init__(self, url: str, timeout_s: float) -> None:
        """
        Args:
            timeout_s: the longest silence.

        Raises:
            SettingsInvalid: the URL cannot be one that a runtime has as its base.
        """
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._has_warned = False
        try:
            self._base = httpx2.URL(self.url)
        except httpx2.InvalidURL as error:
            raise SettingsInvalid(f"The upstream {url[:200]!r} is no URL: {error}.", hint=_URL_HINT) from None
        if self._base.scheme not in {"http", "https"} or not self._base.host:
            raise SettingsInvalid(f"The upstream {url[:200]!r} is no URL of HTTP.", hint=_URL_HINT)
        if self._base.query or self._base.fragment or self._base.userinfo:
            raise SettingsInvalid("The upstream's URL has a query, a fragment or a user.", hint=_URL_HINT)
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # they belong to the runtime
        # As many connections as the runtime opens: who waits for one of ours would not know why.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = httpx2.AsyncClient(timeout=timeout_s, limits=limits, cookies=no_cookies)

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def answer(
        self, method: str, path: bytes, query: bytes, headers: Headers, content: Content
    ) -> AsyncIterator[httpx2.Response]:
        """The answer, once its head is there. Leaving the context ends the request.

        Args:
            path: what follows the path of the URL, as it came.

        Raises:
            Refusal: the provider cannot be reached, is silent for too long, or answers with a status that HTTP
                does not have. After the head, `httpx2.HTTPError`.
        """
        target = self._base.raw_path.rstrip(b"/") + path + (b"?" + query if query else b"")
        # Once: the provider will not know a path if a runtime added a version to a base URL that has it.
        if not self._has_warned and (found := _VERSION_TWICE.search(target)) is not None:
            self._has_warned = True
            logger.warning(
                "a request goes to ...%s, a version twice: leave /%s out of the runtime's base URL or --upstream",
                found[0].decode(),
                found[1].decode(),
            )
        sent = [(name, value) for name, value in end_to_end(headers) if name not in _NOT_SENT]
        extensions = {"target": target or b"/"}  # a path in the URL would be escaped anew
        request = httpx2.Request(method, self._base, headers=sent, content=content, extensions=extensions)
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except httpx2.TimeoutException:
            message = f"{self.url} was silent for {self._timeout_s:g} s."
            raise Refusal(
                504, "UPSTREAM_TIMEOUT", message, "Ask again, or start with a longer --timeout."
            ) from None
        except httpx2.HTTPError as error:
            message = f"{self.url} cannot be reached: {error or type(error).__name__}."
            hint = "Is the network there, and the --upstream of `workspaced proxy` right?"
            raise Refusal(502, "UPSTREAM_UNREACHABLE", message, hint) from None
        try:
            if not 200 <= (status := response.status_code) < 600:
                hint = "Is the --upstream of `workspaced proxy` a provider's URL?"
                raise Refusal(502, "UPSTREAM_STATUS", f"{self.url} answered with the status {status}.", hint)
            yield response
        finally:
            await response.aclose()


_URL_HINT: Final = "Give the base URL that the runtime would use, such as https://api.openai.com/v1."
