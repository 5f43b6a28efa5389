"""`OpenViews`: closes the view of a publisher whose editor is gone, so that its note is not active for ever.

A connection that sends a snapshot shows its source's whole view. When the source's last such connection has been
gone for `grace_s`, what it showed leaves. An editor that restarts, or a daemon, loses nothing: a source that comes
back within the grace keeps its view, and after a start of the daemon the grace begins anew. A source that took its
view back before it went, as an editor does that quits, has nothing to lose: its view closes at once, and one that
infers counts from then on.
"""

import asyncio
import logging
from collections.abc import Hashable

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.journal.submissions import Outcome
from workspaced_events.projections.workspace_state import WorkspaceState

from ..journal.publishing import Publishing
from ..limits import SOURCES_PER_CONNECTION_MAX
from .awake_timer import AwakeTimer

logger = logging.getLogger(__name__)


class OpenViews:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(self, publishing: Publishing, loop: asyncio.AbstractEventLoop, grace_s: float) -> None:
        self._publishing = publishing
        self._loop = loop
        self._grace_s = grace_s
        self._sources: dict[Hashable, set[str]] = {}
        """The sources whose snapshots each open connection sent."""
        self._showing: dict[str, set[str | None]] = {}
        """By source: the vaults, as it names them, in which it shows something."""
        self._timers: dict[str, AwakeTimer] = {}
        """One for each source that is gone, while its view is open."""

    def begin(self, state: WorkspaceState) -> None:
        """Gives every view that the log left open a whole grace."""
        for source in {source for views in state.views.values() for source in views}:
            self._wait(source, self._grace_s)

    def shown(
        self, source: str, connection: Hashable, vault: str | None = None, *, is_empty: bool = False
    ) -> None:
        """The connection sends a snapshot of the source's view of a vault.

        Raises:
            InvalidArgument: it shows too many already.
        """
        sources = self._sources.setdefault(connection, set())
        if source not in sources and len(sources) >= SOURCES_PER_CONNECTION_MAX:
            raise InvalidArgument(
                f"A connection shows the views of at most {SOURCES_PER_CONNECTION_MAX} sources.",
                hint="Send the snapshots of one editor under one source.",
            )
        sources.add(source)
        showing = self._showing.setdefault(source, set())
        (showing.discard if is_empty else showing.add)(vault)
        if (timer := self._timers.pop(source, None)) is not None:
            timer.cancel()

    def gone(self, connection: Hashable) -> None:
        """The connection is closed."""
        for source in self._sources.pop(connection, ()):
            if not self._is_shown(source):
                self._wait(source, self._grace_s if self._showing.pop(source) else 0.0)

    def stop(self) -> None:
        """Closes no more views: the daemon ends, and its editors may outlive it."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._sources.clear()
        self._showing.clear()

    def _is_shown(self, source: str) -> bool:
        return any(source in sources for sources in self._sources.values())

    def _wait(self, source: str, grace_s: float) -> None:
        self._timers[source] = AwakeTimer(self._loop, grace_s, lambda: self._close(source))

    def _close(self, source: str) -> None:
        del self._timers[source]

        def done(outcome: Outcome) -> None:
            if isinstance(outcome, WorkspacedError):
                self._retry(source, outcome)

        try:
            self._publishing.close_view(source, done)
        except WorkspacedError as error:
            self._retry(source, error)

    def _retry(self, source: str, error: WorkspacedError) -> None:
        logger.debug("the view of a publisher that is gone stays open for now: %s", error)
        if source not in self._timers and not self._is_shown(source):
            self._wait(source, self._grace_s)
