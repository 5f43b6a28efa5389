"""The log that the page looks at: opened once, in the background, and read by one view at a time."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import anyio
from anyio import to_thread

from workspaced_events.errors import LogUnreadable, WorkspacedError

from .. import replay
from .inspected import Inspected, Subject
from .masking.mask import Mask

T = TypeVar("T")


class OpenLog:
    """A `workspaced.replay.Log`, which one thread at a time uses. Leaving its `with` block closes it."""

    def __init__(self, subject: Subject, *, may_change: bool = False) -> None:
        self.subject = subject
        self._may_change = may_change
        self._inspected: Inspected | None = None
        self._failure: WorkspacedError | None = None
        self._tried = anyio.Event()
        self._lock = threading.Lock()
        self._closing = ExitStack()

    def __enter__(self) -> "OpenLog":
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    async def open(self) -> None:
        """Opens the log; `read` waits for it, and raises the error if it could not be opened."""
        try:
            self._inspected = await to_thread.run_sync(self._open)
        except WorkspacedError as error:
            self._failure = error
        except OSError as error:
            self._failure = LogUnreadable(f"{self.subject.name} cannot be read: {error.strerror}.")
        self._tried.set()

    async def read(self, view: Callable[[Inspected], T]) -> T:
        """What `view` makes of the log, on a thread, after all views before it.

        Raises:
            WorkspacedError: the log cannot be opened, or the view's error.
        """
        await self._tried.wait()
        if self._failure is not None:
            raise self._failure
        assert self._inspected is not None
        return await to_thread.run_sync(self._locked, view, self._inspected)

    def _open(self) -> Inspected:
        log = self._closing.enter_context(replay.open(self.subject.path))
        return Inspected(self.subject, log, Mask(None, log.blob), self._may_change)

    def _locked(self, view: Callable[[Inspected], T], inspected: Inspected) -> T:
        with self._lock:
            return view(inspected)
