"""What the situations of publishers ask of an editor (tests/clients/publishers), whichever editor it is.

A driver starts the real editor with its publisher and nothing else of the user's, and does what a user does. What
came of it is not asked of the driver but of the daemon.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

ABILITIES = frozenset({"focus", "pin", "rename", "selection", "split", "pause", "quit-takes-back", "bytes"})
"""What an editor, or its driver, may lack; a situation that needs it is skipped then, and says so."""


class PublishingEditor(Protocol):
    """One editor that runs. Paths are absolute. A method returns once the editor has done it; whether a daemon was
    told is a question of `settled`. Every wait is bounded: what does not come is an AssertionError."""

    can: ClassVar[frozenset[str]]
    """Of `ABILITIES`. "bytes": opens names that are no UTF-8."""
    lasting: ClassVar[str]
    """The source of what commands publish, such as "neovim". Sources of views begin with it."""
    missing: ClassVar[str | None]
    """Why the editor cannot be started on this machine; None: it can."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        """Starts the editor.

        Args:
            env: its environment; the records of daemons lie below its HOME.
            folder: is opened in it.
        """

    # -- what a user does --

    def open(self, path: Path) -> None:
        """The file is shown in the current pane, in place of the one before, and has the focus."""

    def split(self, path: Path) -> None:
        """The file is shown beside the current one and has the focus."""

    def close(self, path: Path) -> None:
        """Closes the file: its last pane or tab."""

    def pin(self, path: Path) -> None:
        """Pins an open file in the user's own way, a command or a pinned tab; it has the focus then."""

    def unpin(self, path: Path) -> None:
        """Takes back what `pin` did."""

    def select(self, path: Path, first: int, last: int) -> None:
        """Selects whole lines of an open file, counted from 1, to the end of the last one."""

    def rename(self, old: Path, new: Path) -> None:
        """Renames an open file inside the editor; the file itself moves too."""

    def focus(self) -> None:
        """The user comes back to this editor. An editor that was just started has the focus."""

    def blur(self) -> None:
        """The user goes to another program."""

    def burst(self, paths: Sequence[Path]) -> None:
        """Opens files one after another as fast as the editor can."""

    def pause(self) -> None:
        """Pauses the daemon by the editor's own command; returns once it is paused."""

    def resume(self) -> None:
        """Ends the pause by the editor's own command; returns once it has ended."""

    # -- what the test needs --

    def settled(self) -> None:
        """Waits until a daemon is connected, and each connected one was told all that was done so far and has
        answered. After a daemon has gone, that is once it is back."""

    def told(self) -> dict[str, Any]:
        """The publisher's own status. Answers at any time."""

    def kill(self) -> None:
        """SIGKILL, and waits for it."""

    def quit(self) -> None:
        """Ends it as a user does, and waits for it."""

    def end(self) -> None:
        """Ends it, however it is; it may have ended before."""
