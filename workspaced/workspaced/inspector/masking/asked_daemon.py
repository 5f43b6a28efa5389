"""Asks the running daemon which notes are withheld, over a connection of its own."""

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from workspaced_events.ids import NoteId, VaultId

from ...client.sync_client import SyncClient, connect
from ...errors import NoDaemon, TimedOut
from .withheld_notes import Standing, asking

_ANSWER_S: Final = 5.0
"""How long a view waits for an answer. Without one, what it names is hidden."""
_RETRY_S: Final = 2.0
"""After an answer that did not come in time nothing is asked for so long, so that views do not wait again."""


class AskedDaemon:
    """An `Ask`, for one thread at a time. Connects when it is first asked, and again when the daemon is back."""

    def __init__(
        self,
        socket: Path,
        name: str,
        *,
        answer_s: float = _ANSWER_S,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            name: ours among the daemon's clients.
            answer_s: how long an answer is waited for.
            clock_s: a clock that only goes forward.
        """
        self._socket = socket
        self._name = name
        self._answer_s = answer_s
        self._clock_s = clock_s
        self._client: SyncClient | None = None
        self._silent_until_s: float | None = None
        self._ask = asking(self._call)

    def __call__(self, vault: VaultId, notes: Collection[NoteId]) -> Mapping[NoteId, Standing]:
        """
        Raises:
            NoDaemon, TimedOut, RemoteError: nobody answers, or the daemon refuses.
        """
        return self._ask(vault, notes)

    def close(self) -> None:
        """Ends the connection."""
        if self._client is not None:
            self._client.close()

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        if self._silent_until_s is not None and self._clock_s() < self._silent_until_s:
            raise TimedOut("The daemon did not answer a moment ago.")
        self._silent_until_s = None
        try:
            if self._client is None:
                self._client = connect(self._socket, name=self._name, timeout_s=self._answer_s)
                return self._client.call(method, params)
            try:
                return self._client.call(method, params)
            except NoDaemon:  # it was another daemon's connection, if one has started since
                return self._client.call(method, params)
        except TimedOut:
            self._silent_until_s = self._clock_s() + _RETRY_S
            raise
