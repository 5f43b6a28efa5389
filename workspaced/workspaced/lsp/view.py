"""What the editor shows, as far as a language server can infer it. Pure.

The protocol says which documents are open and which one a request is about; it has no event for the focus. So the
document that was opened, changed or asked about last is taken for the one that the user looks at, and what was
selected when the editor last asked for actions for the selection.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

_LSP_TABS_MAX: Final = 10


class Selection(msgspec.Struct, frozen=True):
    """The lines that are selected, from 1, with their text if it is short enough to be told."""

    start_line: int
    end_line: int
    text: str | None = None


class Shown(msgspec.Struct, frozen=True):
    """What one vault's daemon is to be told."""

    active: str | None = None
    tabs: tuple[str, ...] = ()
    selection: Selection | None = None

    @property
    def is_empty(self) -> bool:
        return self.active is None and not self.tabs


def shown(active: str | None, notes: Sequence[str], selection: Selection | None) -> Shown:
    """The view of one vault.

    Args:
        active: the note that is looked at, if it is one of this vault.
        notes: the vault's open notes, in the order in which they were opened.
        selection: in the active note.
    """
    tabs = tuple(dict.fromkeys(notes))[-_LSP_TABS_MAX:]
    # A note alone is the active note; beside others each is a tab, so that going from one to the next opens none.
    return Shown(active, () if tabs == (active,) else tabs, selection if active is not None else None)


def snapshot(view: Shown, source: str, vault: str) -> dict[str, Any]:
    """The view as `workspaced/snapshot` takes it."""
    tabs = [{"note": note, "source": "navigation"} for note in view.tabs]
    selection = _lines(view.selection)
    return {
        "source": source,
        "vault": vault,
        "active": view.active,
        "pins": [],
        "tabs": tabs,
        "selection": selection,
    }


def _lines(selection: Selection | None) -> dict[str, Any] | None:
    """A selection on the wire."""
    if selection is None:
        return None
    text = {} if selection.text is None else {"text": selection.text}
    return {"startLine": selection.start_line, "endLine": selection.end_line, **text}
