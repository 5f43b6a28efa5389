"""A bar on stderr for each vault that is being indexed, where a person watches."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from workspaced_events.ids import VaultId

if TYPE_CHECKING:
    from ...service.service import Service
    from ...vaults.served_vault import ServedVault

REDRAWN_S: Final = 0.2
SMALL_NOTES: Final = 2_000
"""A vault of fewer notes is indexed before a bar could be read."""


class IndexingBars:
    """Draws on a thread of its own until every vault can be searched, or `close`."""

    def __init__(self, service: "Service", console: Console | None = None) -> None:
        """`console` is stderr unless another is given; on none that is a terminal nothing is drawn."""
        self._service = service
        self._console = console or Console(stderr=True)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="indexing-bars", daemon=True)
        if self._console.is_terminal:
            self._thread.start()

    def close(self) -> None:
        """Takes the bars away and waits for that: the terminal's cursor must come back."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _draw(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        drawing = Progress(*columns, console=self._console, transient=True, auto_refresh=False)
        with suppress(OSError), drawing as bars:  # a terminal that is gone takes no bar
            tasks = {
                vault: bars.add_task(f"indexing {vault}", total=None, visible=False) for vault in self._vaults()
            }
            while not self._closed.wait(REDRAWN_S):
                left = False
                for vault, served in self._vaults().items():
                    progress = served.vault.statistics().index
                    left = left or progress.text != "ready"
                    names = progress.state != "ready"
                    what = "indexing names and links of" if names else "indexing the text of"
                    bars.update(
                        tasks[vault],
                        description=f"{what} {vault}",
                        completed=progress.notes_indexed if names else progress.texts_indexed,
                        total=progress.notes_found or None,
                        visible=progress.text != "ready" and progress.notes_found >= SMALL_NOTES,
                    )
                bars.refresh()
                if not left:
                    return

    def _vaults(self) -> dict[VaultId, "ServedVault"]:
        return dict(self._service.served)
