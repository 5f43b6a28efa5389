"""Who may use the proxy: a program that has the token, and speaks to this machine by its own name.

Any program of any user, and any page in a browser, can reach a port of the loopback interface. The token keeps
them out; the check of `Host` stops a page whose name was made to point here (DNS rebinding).
"""

import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from workspaced_events.private_files import make_folder, write_file

from ..errors import SettingsInvalid
from ..web.loopback_server import Refused

TOKEN_VARIABLE: Final = "WORKSPACED_PROXY_TOKEN"  # noqa: S105 - the name of a variable
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")
_TOKEN_BYTES: Final = 24
_PREFIX: Final = b"/t/"
_ORIGIN: Final = re.compile(rb"https?://([^/]*)", re.IGNORECASE)
"""What a request to a proxy in the usual sense has before its path (RFC 9112, 3.2.2)."""
_OTHERS: Final = 0o077


def token_from(path: Path) -> str:
    """The token of the environment, else that of the file, which is made if it is missing.

    Raises:
        SettingsInvalid: it is no token, or the file is not its owner's alone.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None:
        return _checked(given, TOKEN_VARIABLE)
    try:
        if path.is_dir():
            raise SettingsInvalid(f"{path} is a folder.", hint="Give a file in it as --token-file.")
        if not path.exists():
            _make(path)
        status = path.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & _OTHERS:
            raise SettingsInvalid(
                f"Other users may have read the proxy's token in {path}.",
                hint="Remove the file: the next start makes a new one.",
            )
        return _checked(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingsInvalid(
            f"Cannot use the token file {path}: {why}.", hint="Give another --token-file."
        ) from None


def _make(path: Path) -> None:
    """Two proxies that start at once get the same token: a link is made once, and the file it names is whole."""
    make_folder(path.parent)
    whole = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    write_file(whole, secrets.token_urlsafe(_TOKEN_BYTES).encode())
    try:
        with suppress(FileExistsError):
            os.link(whole, path)
    finally:
        whole.unlink()


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if _TOKEN.fullmatch(token) is None:
        raise SettingsInvalid(
            f"{where} holds no token.", hint="A token has 16 to 128 letters, digits, dashes and underscores."
        )
    return token


class Access:
    """Checks requests to the proxy on `port`."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")}

    def path_behind(self, target: bytes, query: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """The path behind the token, as it came.

        Args:
            target: a path, or a whole URL; without the query.
            headers: with names in lower case.

        Raises:
            Refusal: the request came to another name, without the token, to no path, or would tell the provider
                the token.
        """
        given = dict(headers)
        names, path = {given.get(b"host", b"")}, target
        if (origin := _ORIGIN.match(target)) is not None:
            names.add(origin[1])
            path = target[origin.end() :]
        if not {name.lower() for name in names} <= self._hosts:
            raise Refusal(
                403,
                "FOREIGN_HOST",
                "The request was sent to another name than this machine's own.",
                "Use the URL that `workspaced proxy` prints.",
            )
        self._check_token(path, given.get(b"x-workspaced-token"))
        first, slash, rest = path.removeprefix(_PREFIX).partition(b"/")
        behind = slash + rest if path.startswith(_PREFIX) and self._is_right(first) else path
        if (behind and not behind.startswith(b"/")) or self._token in unquote_to_bytes(behind + b"?" + query):
            raise Refusal(
                400,
                "TARGET_WRONG",
                "What follows the token in the URL is no path, or holds the token again.",
                "Use the URL that `workspaced proxy` prints, and behind it the provider's path.",
            )
        return behind

    def _check_token(self, path: bytes, header: bytes | None) -> None:
        if header is not None and self._is_right(header):
            return
        if not path.startswith(_PREFIX) or not self._is_right(path[len(_PREFIX) :].partition(b"/")[0]):
            raise Refusal(
                401,
                "TOKEN_WRONG",
                "The request has no token of this proxy, or a wrong one.",
                "Use the URL that `workspaced proxy` prints, or send its token as x-workspaced-token.",
            )

    def _is_right(self, token: bytes) -> bool:
        return hmac.compare_digest(token, self._token)


class Refusal(Refused):
    """A request that the proxy answers itself."""

    @property
    def body(self) -> bytes:
        error: dict[str, Any] = {"type": "workspaced_error", "code": self.code}
        return msgspec.json.encode(
            {"type": "error", "error": {**error, "message": self.message, "hint": self.hint}}
        )
