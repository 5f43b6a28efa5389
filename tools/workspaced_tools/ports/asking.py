"""The ports to a vault: the one of a View, and the one that the gate asks behind it."""

from typing import Protocol

from workspaced_events.projections.workspace_state import VaultState

from .questions import Question, R


class VaultPort(Protocol):
    """The current vault as the tools of one client see it. Safe from any thread; may block.

    A question that needs the index waits for the index to be built, at most INDEX_WAIT_S, and then gets an answer
    from what is there; `IndexState` tells. A path that names an existing file never waits. Notes that the share
    policy withholds do not exist here.
    """

    def ask(self, question: Question[R]) -> R:
        """The answer.

        Raises:
            WorkspacedError: as the question says.
        """
        ...


class VaultSource(Protocol):
    """One vault, present or past, without its history: answers no `Visits`, `VersionOf` and `ManifestOf`.

    As `VaultPort` in all else.
    """

    def ask(self, question: Question[R], state: VaultState) -> R:
        """The answer; `state` decides what references and links mean: it knows archived notes and former paths.

        Raises:
            WorkspacedError: as the question says.
        """
        ...
