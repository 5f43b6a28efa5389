"""The ports that answer questions: `VaultPort` of a View; `VaultSource` behind the gate."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Level
from .questions import Question, R


class WouldBlock(BaseException):
    """The call may wait, and must not. A BaseException, so that no tool handles it as a failure."""


class _OfThread(threading.local):
    may_block = True


_of_thread: Final = _OfThread()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Within it, whatever this thread asks that may wait, as for a file or the index, raises WouldBlock.

    Most calls ask for notes that were read a moment ago. Such a call runs on the event loop, because the hand-over
    to a thread would cost more than the call.
    """
    before, _of_thread.may_block = _of_thread.may_block, False
    try:
        yield
    finally:
        _of_thread.may_block = before


def may_wait() -> bool:
    """Whether this thread may wait; false within `without_waiting`."""
    return _of_thread.may_block


def check_may_wait() -> None:
    """Called before anything that may wait, and before it changes anything.

    Raises:
        WouldBlock: this thread may not.
    """
    if not _of_thread.may_block:
        raise WouldBlock


class Audience:
    """Whom a question is answered for."""

    def __init__(self, least: Level = Level.VOLUNTEER) -> None:
        """`least`: the least level of the notes that are shown."""
        self.least: Final = least

    def stands(self, _note: NoteId, _version: object) -> bool:
        """Whether this call has decided that the note is shown to all, at this version of the vault's levels.

        Then a version of the note's file that has no flag is shown without deciding again: see `NoteLevels.shows`.
        """
        return False


UNASKED: Final = Audience()
"""What is shown unasked, of which nothing has been decided."""


class VaultPort(Protocol):
    """The current vault as the tools of one client see it. Safe from any thread; may block.

    A question that needs the index waits until the index has been built for INDEX_WAIT_S. After that the answer
    uses the unfinished index, and `IndexState` answers `building`. A path of an existing file never waits for it.
    Withheld notes do not exist here.
    """

    def ask(self, question: Question[R]) -> R:
        """Answers a question.

        Raises:
            WorkspacedError: see the question's docstring.
        """
        ...


class VaultSource(Protocol):
    """One vault, present or past, without its history: `Visits`, `VersionOf` and `ManifestOf` are not answered.

    Otherwise the guarantees of `VaultPort` hold.
    """

    def ask(self, question: Question[R], state: VaultState, audience: Audience = UNASKED) -> R:
        """Answers a question.

        Args:
            state: its archived notes and former paths decide what references and links mean.

        Raises:
            WorkspacedError: see the question's docstring.
        """
        ...
