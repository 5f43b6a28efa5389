"""Has the daemon say what to put into a request; whatever goes wrong, the request goes on as it was.

An agent must neither fail nor wait because of its context. So nothing is raised: the reason is logged once, until
a request succeeds or fails for another reason.

Each question has a connection of its own. So nothing is shared between threads, event loops and forks, and a
daemon that was started again is found at once.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from workspaced_events.errors import WorkspacedError

from ..client.sync_client import connect
from ..errors import TimedOut
from ..overlay.asking import METHOD, overlaid, params_of
from ..overlay.json_places import Unreadable
from ..overlay.request import Form, read_request
from ..overlay.usage import UsageReader, usage_reader

logger = logging.getLogger("workspaced.adapters")

TIMEOUT_S: Final = 5.0
PAUSE_S: Final = 60.0


class Overlaying:
    """The daemon, as one adapter asks it. Its methods block."""

    def __init__(
        self,
        name: str,
        *,
        socket: Path | str | None = None,
        workspace: str | None = None,
        timeout_s: float = TIMEOUT_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        """Does not look for the daemon yet.

        Args:
            name: the client's name, for `workspaced share` and records.
            socket: the daemon's; default: as `workspaced.connect`.
            timeout_s: for each answer of the daemon.
            pause_s: how long the daemon is not asked after it did not answer in time.
        """
        self._connect = partial(connect, socket, workspace=workspace, name=name, timeout_s=timeout_s)
        self._pause_s = pause_s
        self._paused_until = 0.0
        self._paused_by: TimedOut | None = None
        self._logged = ""

    def overlay(self, form: Form, path: bytes, body: bytes) -> "Overlay | None":
        """The request with its context; None: it goes on as it was."""
        with self._logged_once("A request goes on without context"):
            request = read_request(form, body)
            answer = self._call(METHOD, params_of(request, path))
            made = overlaid(request, body, answer)
            self._logged = ""
            return Overlay(self, form, made, answer["token"]) if answer["token"] is not None else None
        return None

    def tell(self, moment: str, params: Mapping[str, Any]) -> None:
        """Tells what became of a request: that it left (`confirm`), or its usage (`finished`)."""
        with self._logged_once("What became of a request is not recorded"):
            self._call(f"{METHOD}/{moment}", params)

    def _call(self, method: str, params: Mapping[str, Any]) -> Any:
        if self._paused_by is not None and time.monotonic() < self._paused_until:
            raise self._paused_by
        try:
            with self._connect() as client:
                return client.call(method, params)
        except TimedOut as error:
            self._paused_until = time.monotonic() + self._pause_s
            self._paused_by = TimedOut(f"{error} It is asked again after {self._pause_s:g} s.")
            raise self._paused_by from None

    @contextmanager
    def _logged_once(self, effect: str) -> Iterator[None]:
        """Lets nothing out."""
        try:
            yield
        except Unreadable as error:
            self._log(effect, "NOT_A_PROMPT", str(error))
        except WorkspacedError as error:
            self._log(effect, error.code, str(error))
        except Exception as error:  # a defect of ours: the agent goes on
            self._log(effect, "INTERNAL", f"{type(error).__name__}: {error}")

    def _log(self, effect: str, code: str, reason: str) -> None:
        if reason != self._logged:
            self._logged = reason
            logger.warning("%s: %s: %s", effect, code, reason.strip())


class Overlay:
    """A request with its context, and what passes of its answer."""

    def __init__(self, daemon: Overlaying, form: Form, body: bytes, token: str) -> None:
        """`token`: names the insertions to the daemon."""
        self.body = body
        self._daemon = daemon
        self._form = form
        self._token = token
        self._usage: UsageReader | None = None

    def left(self) -> None:
        """The provider took the request."""
        body_hash = sha256(self.body).hexdigest()
        self._daemon.tell("confirm", {"token": self._token, "bodySha256": body_hash})

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The provider's answer begins."""
        self._usage = usage_reader(status, headers)
        if status < HTTPStatus.BAD_REQUEST:
            self.left()

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the answer. Does not block."""
        if self._usage is not None:
            self._usage.feed(data)

    def finish(self) -> None:
        """The answer ended, or nobody reads it any more."""
        if self._usage is not None and (told := self._usage.told()) is not None:
            self._daemon.tell("finished", {"token": self._token, "form": self._form, **told})
