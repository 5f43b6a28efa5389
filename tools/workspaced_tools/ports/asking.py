"""The ports that answer questions: `VaultPort` of a View; `VaultSource` and `MemoryPort` behind the gate."""

from typing import Protocol

from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Level
from .memory import MemoryAnswer
from .questions import Question, R, UseMemory


class WouldBlock(BaseException):
    """The call may wait, and must not. A BaseException, so that no tool handles it as a failure."""


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

    def ask(self, question: Question[R], state: VaultState, least: Level = Level.VOLUNTEER) -> R:
        """Answers a question.

        Args:
            state: its archived notes and former paths decide what references and links mean.
            least: the least level of the notes that the asker is shown.

        Raises:
            WorkspacedError: see the question's docstring.
        """
        ...


class MemoryPort(Protocol):
    """The memory folder of one call, for one client. Blocks."""

    def use(self, command: UseMemory) -> MemoryAnswer:
        """Carries out a command.

        Raises:
            WorkspacedError: see the question's docstring.
        """
        ...
