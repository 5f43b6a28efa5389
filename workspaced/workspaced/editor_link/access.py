"""Who may open the link: a program that has read the lock file, and is no page in a browser.

Any program of any user, and any page in a browser, can reach a port of the loopback interface. The token keeps
programs out; pages are known by `Origin`, which browsers always send, and a page whose name was made to point
here (DNS rebinding) by `Host`.
"""

import hmac
from http import HTTPStatus
from typing import Final

from websockets.datastructures import Headers

TOKEN_HEADER: Final = "x-claude-code-ide-authorization"  # noqa: S105 - the name of a header


class Access:
    """Checks the requests that open the link on `port`."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    def refusal(self, headers: Headers) -> tuple[HTTPStatus, str] | None:
        """The answer to a program that may not open the link; None: it may."""
        if headers.get_all("Origin"):
            return (HTTPStatus.FORBIDDEN, "A page in a browser may not open this link.\n")
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return (HTTPStatus.FORBIDDEN, "The request was sent to another name than 127.0.0.1.\n")
        tokens = headers.get_all(TOKEN_HEADER)
        given = tokens[0].encode(errors="surrogateescape") if len(tokens) == 1 else b""
        if not hmac.compare_digest(given, self._token):
            return (HTTPStatus.UNAUTHORIZED, f"The token of the lock file is needed as {TOKEN_HEADER}.\n")
        return None
