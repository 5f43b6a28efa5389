"""The bar that a person sees while a large vault is indexed."""

import io
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from workspaced.cli.daemon.index_progress import IndexingBars


class FakeVault:
    """Is indexed a little further each time it is asked."""

    def __init__(self, notes: int) -> None:
        self.notes = notes
        self.asked = 0

    def statistics(self) -> Any:
        self.asked += 1
        done = self.asked >= 5
        return SimpleNamespace(
            index=SimpleNamespace(
                state="building" if self.asked < 3 else "ready",
                text="ready" if done else "building",
                notes_found=self.notes,
                notes_indexed=self.notes // 2,
                texts_indexed=self.notes // 4,
            )
        )


def service_of(vault: FakeVault) -> Any:
    return SimpleNamespace(served={"notes": SimpleNamespace(vault=vault)})


def drawn(vault: FakeVault, *, terminal: bool) -> str:
    said = io.StringIO()
    bars = IndexingBars(service_of(vault), Console(file=said, force_terminal=terminal, width=100))
    if terminal:
        bars._thread.join(60)
        assert not bars._thread.is_alive()
    bars.close()
    return said.getvalue()


def test_a_person_sees_what_is_indexed_and_gets_the_cursor_back() -> None:
    said = drawn(FakeVault(10_000), terminal=True)
    assert "indexing names and links of notes" in said
    assert "indexing the text of notes" in said
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")


def test_nothing_is_drawn_where_nobody_watches_or_the_vault_is_small() -> None:
    vault = FakeVault(10_000)
    assert drawn(vault, terminal=False) == ""
    assert vault.asked == 0
    assert "indexing" not in drawn(FakeVault(50), terminal=True)


def test_closing_ends_the_drawing_of_an_index_that_is_still_being_built() -> None:
    vault = FakeVault(10_000)
    vault.asked = -(10**9)
    bars = IndexingBars(service_of(vault), Console(file=io.StringIO(), force_terminal=True, width=100))
    bars.close()
    assert not bars._thread.is_alive()
