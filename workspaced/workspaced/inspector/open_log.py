"""The log that the page looks at: opened once, in the background, and read by one view at a time."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import anyio
from anyio import to_thread

from workspaced_events.errors import LogUnreadable, WorkspacedError
from workspaced_events.replay.source import NEVER_COMPLETED

from .. import replay
from .inspected import Inspected, Subject, mask_over
from .masking.withheld_notes import Ask
from .searching.search import Searches

T = TypeVar("T")


class OpenLog:
    """A `workspaced.replay.Log`, which one thread at a time uses. Leaving its `with` block closes it."""

    def __init__(self, subject: Subject, *, may_change: bool = False, ask: Ask | None = None) -> None:
        """`ask`: as of `Mask`."""
        self.subject = subject
        self._ask = ask
        self._may_change = may_change
        self._inspected: Inspected | None = None
        self._failure: WorkspacedError | None = None
        self._tried = anyio.Event()
        self._lock = threading.Lock()
        self._closing = ExitStack()
        self._ending = threading.Event()
        self._searches = Searches(subject.path)

    @property
    def hides(self) -> bool:
        """Whether notes may be hidden."""
        return self._ask is not None

    def __enter__(self) -> "OpenLog":
        return self

    def __exit__(self, *_error: object) -> None:
        self._searches.close()
        self._closing.close()

    async def open(self) -> None:
        """Opens the log; `read` waits for it, and raises the error if it could not be opened."""
        await self._reopen()
        self._tried.set()

    async def reload(self) -> None:
        """Opens the log anew, as it is now; until then views read it as it was."""
        await self._reopen()

    async def read(self, view: Callable[[Inspected], T]) -> T:
        """What `view` makes of the log, on a thread, after all views before it.

        Raises:
            WorkspacedError: the log cannot be opened, or the view's error.
        """
        await self._tried.wait()
        return await to_thread.run_sync(self._locked, view)

    def end(self) -> None:
        """Gives up an opening that is under way: nobody waits for it any more."""
        self._ending.set()

    async def _reopen(self) -> None:
        opened, failure = ExitStack(), None
        inspected = None
        try:
            inspected = await to_thread.run_sync(self._open, opened)
        except WorkspacedError as error:
            failure = error
        except OSError as error:
            failure = LogUnreadable(f"{self.subject.name} cannot be read: {error.strerror}.")
        await to_thread.run_sync(self._become, inspected, failure, opened)

    def _open(self, opened: ExitStack) -> Inspected:
        log = opened.enter_context(replay.open(self.subject.path, progress=self._check_wanted))
        if self.subject.socket is not None:
            # A daemon is about to complete the line, or will put it aside when it starts.
            log.warnings[:] = [each for each in log.warnings if not each.endswith(NEVER_COMPLETED)]
        return Inspected(self.subject, log, mask_over(log, self._ask), self._searches, self._may_change)

    def _check_wanted(self, _done: int, _of: int) -> None:
        if self._ending.is_set():
            raise LogUnreadable(f"{self.subject.name} was not read to its end, since the inspector ends.")

    def _become(self, inspected: Inspected | None, failure: WorkspacedError | None, opened: ExitStack) -> None:
        with self._lock:
            former, self._closing = self._closing, opened
            self._inspected, self._failure = inspected, failure
        former.close()

    def _locked(self, view: Callable[[Inspected], T]) -> T:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            assert self._inspected is not None
            return view(self._inspected)
