"""Texts that clients upload in parts, because one line cannot hold them, until a message names them."""

import hashlib
import time
from collections import OrderedDict
from typing import Final, NamedTuple

from workspaced_events.errors import ActionError, InvalidArgument

_UPLOAD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of one text uploaded in parts."""
_UPLOAD_S: Final = 600.0
"""An upload that nobody touched for this long is no longer held."""
_UPLOADS_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of all uploads of all clients that are held in memory."""
Key = tuple[str, str] | str
"""Of parts: the client's name, and the id that it gave its upload. Of a whole text: its sha256."""


class _Held(NamedTuple):
    content: bytes
    since: float


class Uploads:
    """Holds parts and whole texts in memory; the longest unused go once they are too many or too old.

    Nothing of an upload is in the log before a message names it. Belongs to the loop's thread.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[Key, _Held] = OrderedDict()
        self._bytes = 0

    def put(self, client: str, upload: str, text: str, *, last: bool) -> tuple[int, str | None]:
        """Adds the next part of an upload; the last one makes it a text that messages can name.

        Returns:
            How many bytes there are so far, and the text's sha256; None: more parts follow.

        Raises:
            InvalidArgument: the text would be longer than _UPLOAD_BYTES_MAX; the upload is given up.
        """
        self._forget_old()
        whole = self._taken((client, upload)) + text.encode()
        if len(whole) > _UPLOAD_BYTES_MAX:
            raise InvalidArgument(
                f"The upload {upload!r} has more than {_UPLOAD_BYTES_MAX} bytes.", hint="Attach less of it."
            )
        sha256 = hashlib.sha256(whole).hexdigest() if last else None
        self._hold(sha256 or (client, upload), whole)
        return len(whole), sha256

    def text(self, sha256: str) -> bytes:
        """The whole text of that hash. It stays, since the message may be sent again.

        Raises:
            ActionError: there is none, or none any more.
        """
        self._forget_old()
        if sha256 not in self._held:
            raise ActionError(
                f"No text of the sha256 {sha256} was uploaded in the last {_UPLOAD_S / 60:.0f} minutes.",
                hint="Upload it with workspaced/blob/put, then name it.",
                code="UNKNOWN_BLOB",
            )
        content = self._taken(sha256)
        self._hold(sha256, content)
        return content

    def _taken(self, key: Key) -> bytes:
        content = self._held.pop(key, _Held(b"", 0.0)).content
        self._bytes -= len(content)
        return content

    def _hold(self, key: Key, content: bytes) -> None:
        self._taken(key)
        self._held[key] = _Held(content, time.monotonic())
        self._bytes += len(content)
        while self._bytes > _UPLOADS_BYTES_MAX:
            self._taken(next(iter(self._held)))

    def _forget_old(self) -> None:
        before = time.monotonic() - _UPLOAD_S
        while self._held and next(iter(self._held.values())).since < before:
            self._taken(next(iter(self._held)))
