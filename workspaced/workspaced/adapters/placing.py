"""Asks the daemon for messages with context in place; whatever goes wrong, the request goes on as it was.

An agent must neither fail nor wait because of its context. So nothing is raised: the reason is logged once, until
a request succeeds or fails for another reason.

Each request has a connection of its own. So nothing is shared between threads, event loops and forks, and a daemon
that was started again is found at once.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

import anyio.to_thread
import msgspec

from workspaced_events.errors import WorkspacedError

from ..client.sync_client import connect
from ..errors import TimedOut
from ..limits import REQUEST_BYTES_MAX

logger = logging.getLogger("workspaced.adapters")

TIMEOUT_S: Final = 5.0
PAUSE_S: Final = 60.0
DEADLINE_SHARE: Final = 0.9
"""Of the timeout: an answer that comes at its end is on its way already."""
LINE_BYTES: Final = REQUEST_BYTES_MAX - 64 * 1024
"""Longer messages are uploaded; the rest of a line is for what stands beside them."""

Form = Literal["openai", "responses", "anthropic"]
Json = dict[str, Any]
T = TypeVar("T")


class Transform(Protocol):
    """Gives the messages back with context in place: `{messages, system, ...}`.

    Raises:
        WorkspacedError: the daemon is gone, does not answer, or refuses.
    """

    def __call__(self, form: Form, messages: Sequence[Json], system: Any = None) -> Mapping[str, Any]: ...


class Placing:
    """The daemon, as one adapter asks it."""

    def __init__(
        self,
        name: str,
        *,
        socket: Path | str | None = None,
        workspace: str | None = None,
        context_window: int | None = None,
        output_reserve: int | None = None,
        timeout_s: float = TIMEOUT_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        """Does not look for the daemon yet.

        Args:
            name: the client's name, for `workspaced share` and records.
            socket: the daemon's; default: as `workspaced.connect`.
            context_window: the model's, in tokens; default: the daemon's. With `output_reserve` it decides when
                the oldest turns are folded.
            timeout_s: for all of a request's questions to the daemon.
            pause_s: how long the daemon is not asked after it did not answer in time.
        """
        settings: Json = {"context_window": context_window, "output_reserve": output_reserve}
        self._settings = {key: value for key, value in settings.items() if value is not None}
        self._connect = partial(connect, socket, workspace=workspace, name=name)
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._paused_until = 0.0
        self._logged: str | None = None

    def place(self, work: Callable[[Transform, T], T], given: T) -> T:
        """`work` with a way to ask the daemon; what was given if that fails. Blocks, at most for `timeout_s`."""
        if time.monotonic() < self._paused_until:
            return given
        try:
            placed = work(self._transform, given)
        except TimedOut as error:
            self._paused_until = time.monotonic() + self._pause_s
            self._log(error.code, f"{error} It is asked again after {self._pause_s:g} s.")
        except WorkspacedError as error:
            self._log(error.code, str(error))
        except Exception as error:  # whatever a framework's messages hold: its agent goes on
            self._log("INTERNAL", f"{type(error).__name__}: {error}")
        else:
            self._logged = None
            return placed
        return given

    async def place_async(self, work: Callable[[Transform, T], T], given: T) -> T:
        """As `place`, without blocking the event loop."""
        return await anyio.to_thread.run_sync(self.place, work, given, abandon_on_cancel=True)

    def _log(self, code: str, reason: str) -> None:
        if reason != self._logged:
            self._logged = reason
            logger.warning("A request goes on without context: %s: %s", code, reason.strip())

    def _transform(self, form: Form, messages: Sequence[Json], system: Any = None) -> Mapping[str, Any]:
        text = msgspec.json.encode(messages)
        with self._connect(timeout_s=self._timeout_s) as client:
            given: Json = {"messages": messages}
            if len(text) > LINE_BYTES:
                given = {"messages_sha256": client.upload(text.decode())}
            given["deadline"] = round(1_000 * (time.time() + self._timeout_s * DEADLINE_SHARE))
            made: Mapping[str, Any] = client.context.transform(form, system=system, **given, **self._settings)
        return made
