"""The log that the page looks at: opened once, in the background, and read by one view at a time.

A long log takes seconds to fold. So it is folded in small steps, between views; a view that needs more than is
folded gives way until it is, and is then asked again.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TypeVar

import anyio
from anyio import from_thread, to_thread

from workspaced_events.errors import LogUnreadable, WorkspacedError
from workspaced_events.replay.kept_folds import NotFolded
from workspaced_events.replay.source import NEVER_COMPLETED, Progress

from .. import replay
from .inspected import Inspected
from .subject import Subject

T = TypeVar("T")


class OpenLog:
    """A `workspaced.replay.Log`, which one thread at a time uses. Leaving its `with` block closes it.

    Its coroutines belong to one event loop.
    """

    def __init__(self, subject: Subject, progress: Progress, *, may_change: bool = False) -> None:
        """`progress`: is told on the loop how much of the log is verified while it opens, and of how much."""
        self.subject = subject
        self._progress = progress
        self._may_change = may_change
        self._inspected: Inspected | None = None
        self._failure: WorkspacedError | None = None
        self._tried = anyio.Event()
        self._unfolded = anyio.Event()
        """Set when there is something to fold."""
        # Whoever waits longest is next, so the fold holds up a view by one step, and views the fold by one each.
        self._lock = anyio.Lock()
        self._closing = ExitStack()
        self._ending = threading.Event()

    def __enter__(self) -> "OpenLog":
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    async def open(self) -> None:
        """Opens the log, then folds it, also what is added to it and what it is opened anew with; until cancelled.

        `read` waits until it is open, and raises the error if it could not be opened.
        """
        await self.reload()
        self._tried.set()
        while True:
            await self._unfolded.wait()
            self._unfolded = anyio.Event()
            with suppress(WorkspacedError, OSError):  # told to whoever asks for a moment
                while not await self._folded_to(None):
                    pass

    async def read(self, view: Callable[[Inspected], T]) -> T:
        """What `view` makes of the log, on a thread, after all views before it.

        A view that needs more folded than is begins anew once it is; so before it asks for a moment it changes
        nothing.

        Raises:
            WorkspacedError: the log cannot be opened, or the view's error.
        """
        await self._tried.wait()
        while True:
            try:
                return await self._locked(view)
            except NotFolded as more:
                needed = more.needed
            while not await self._folded_to(needed):
                pass

    def end(self) -> None:
        """Gives up what is under way: nobody waits for it any more."""
        self._ending.set()

    async def _locked(self, view: Callable[[Inspected], T]) -> T:
        async with self._lock:
            inspected = self._now()
            try:
                return await to_thread.run_sync(view, inspected)
            finally:
                folded, events = inspected.log.folded
                if folded < events:
                    self._unfolded.set()

    async def _folded_to(self, needed: int | None) -> bool:
        """Whether so many events are folded, after one step more if they were not; None: all.

        Raises:
            WorkspacedError: as `read`, or the inspector ends.
        """
        async with self._lock:
            log = self._now().log
            self._check_wanted()
            folded, events = log.folded
            wanted = events if needed is None else min(needed, events)
            if folded < wanted:
                folded, _ = await to_thread.run_sync(log.fold_some)
            return folded >= wanted

    def _now(self) -> Inspected:
        if self._failure is not None:
            raise self._failure
        # A bundle or an export stays open; of a directory each file is opened when it is needed.
        if self.subject.kind in ("directory", "daemon") and not self.subject.path.exists():
            raise LogUnreadable(
                f"{self.subject.name} is not there any more: it was moved or deleted.",
                hint="Open it where it is now, with `workspaced inspect`.",
            )
        assert self._inspected is not None
        return self._inspected

    async def reload(self) -> None:
        """Opens the log anew, as it is now; until then views read it as it was."""
        opened, failure = ExitStack(), None
        inspected = None
        try:
            inspected = await to_thread.run_sync(self._open, opened)
        except WorkspacedError as error:
            failure = error
        except OSError as error:
            failure = LogUnreadable(f"{self.subject.name} cannot be read: {error.strerror}.")
        async with self._lock:
            former, self._closing = self._closing, opened
            self._inspected, self._failure = inspected, failure
            former.close()
        self._unfolded.set()

    def _open(self, opened: ExitStack) -> Inspected:
        log = opened.enter_context(replay.open(self.subject.path, until_damage=True, progress=self._verified))
        log.fold_only_in_steps()
        if self.subject.socket is not None:
            # A daemon is about to complete the line, or will put it aside when it starts.
            log.warnings[:] = [each for each in log.warnings if not each.endswith(NEVER_COMPLETED)]
        return Inspected(self.subject, log, self._may_change)

    def _verified(self, done: int, of: int) -> None:
        self._check_wanted()
        from_thread.run_sync(self._progress, done, of)

    def _check_wanted(self) -> None:
        if self._ending.is_set():
            raise LogUnreadable(f"{self.subject.name} was not read to its end, since the inspector ends.")
