"""The connection to the daemon: kept open, restored, and never waited for long.

A prompt must not fail, nor wait, because the daemon is gone: a call fails at once while nobody is connected, and
after a call that was not answered in time all calls fail at once for DAEMON_PAUSE_S.
"""

import logging
import time
from pathlib import Path
from typing import Any, Final

import anyio

from workspaced_events.errors import WorkspacedError

from ..client.async_client import Client
from ..errors import NoDaemon, TimedOut
from ..limits import DAEMON_ANSWER_S, DAEMON_PAUSE_S
from ..overlay.asking import METHOD

logger = logging.getLogger(__name__)

_DAEMON_RETRY_S: Final = 1.0
"""How often the proxy looks for a daemon that did not run when it started."""


class DaemonLink:
    """Calls the daemon that listens on `path`, as the client `name`; never waited for long.

    The connection is kept open and restored. A prompt must not fail, nor wait, because the daemon is gone: a call
    fails at once while nobody is connected, and after a call that was not answered in time all calls fail at once
    for DAEMON_PAUSE_S.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._client: Client | None = None
        self._failure = NoDaemon(f"No daemon listens on {path} yet.", hint="Start one with `workspaced serve`.")
        self._paused_until = 0.0
        self._untold: dict[str, anyio.Event] = {}
        """Answers that pass, by the hashes of their names; set once the daemon was told of them."""
        self.tried = anyio.Event()
        """Set after the first try to connect."""

    async def keep_connected(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                async with Client.open(self._path, name=self._name, timeout_s=DAEMON_ANSWER_S) as client:
                    self._client = client  # restores its connection itself from now on
                    self.tried.set()
                    await anyio.sleep_forever()
            except NoDaemon as failure:
                self._failure = failure
                self.tried.set()
            await anyio.sleep(_DAEMON_RETRY_S)

    @property
    def failure(self) -> WorkspacedError | None:
        """Why a call would fail at once; None if it would be sent."""
        if self._client is None:
            return self._failure
        if not self._client.is_connected:
            return NoDaemon(f"The daemon on {self._path} is gone.")
        if time.monotonic() < self._paused_until:
            return TimedOut("The daemon did not answer a moment ago.")
        return None

    async def call(self, params: dict[str, Any], below: str = "") -> dict[str, Any]:
        """The answer of `workspaced/context/overlay`, or of a method below it.

        Raises:
            WorkspacedError: the daemon is gone, refused, or did not answer within DAEMON_ANSWER_S.
        """
        if (told := self._untold.get(params.get("previousResponseId", ""))) is not None:
            with anyio.move_on_after(DAEMON_ANSWER_S):
                await told.wait()
        if (failure := self.failure) is not None:
            raise failure
        assert self._client is not None, "or there is a failure"
        try:
            with anyio.fail_after(DAEMON_ANSWER_S):
                answer: dict[str, Any] = await self._client.call(METHOD + below, params)
        except (TimedOut, TimeoutError):
            self._paused_until = time.monotonic() + DAEMON_PAUSE_S
            raise TimedOut(f"The daemon did not answer within {DAEMON_ANSWER_S:g} s.") from None
        return answer

    def will_tell(self, response_id: str) -> None:
        """The daemon will be told that an answer of that name `finished`; who continues its chat waits for it."""
        if response_id:
            self._untold.setdefault(response_id, anyio.Event())

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        """Tells the daemon what became of a request. A failure is logged: nobody waits for it."""
        try:
            await self.call(params, f"/{method}")
        except WorkspacedError as error:
            logger.warning("what became of a prompt was not recorded: %s [%s]", error.message, error.code)
        finally:
            if (told := self._untold.pop(params.get("responseId", ""), None)) is not None:
                told.set()
