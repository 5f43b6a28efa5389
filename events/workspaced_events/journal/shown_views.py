"""`ShownViews`: the latest snapshots of all publishers, so that what one leaves and another still shows stays.

In memory only: after a start each publisher shows its view again when it connects.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ..ids import NoteId, VaultId
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..schema import catalogue as c
from .actions import Action
from .view_diff import Snapshot, SnapshotTab, closed_views, differences, emptied, handed_over, vault_of


class ShownViews:
    """Used by plans only, so only by the writer's thread."""

    def __init__(self) -> None:
        self._views: dict[tuple[VaultId, str], Snapshot] = {}
        """By vault and source."""

    def show(self, state: WorkspaceState, seq: int, snapshot: Snapshot, *, inferred: bool = False) -> list[Action]:
        """As `differences`, but what another publisher shows too stays, as that one's. An inferred view counts as
        empty while one of a publisher that knows what the user looks at is open."""
        vault = vault_of(state, snapshot)
        views = state.views.get(vault, {}) if vault is not None else {}
        if inferred and any(each is None for source, each in views.items() if source != snapshot.source):
            snapshot = emptied(snapshot)
        actions = differences(state, seq, snapshot, inferred=inferred)
        if vault is None:
            return actions
        actions += self._handed_over(state, seq, actions, snapshot.source)
        self._views[vault, snapshot.source] = snapshot
        return actions

    def close(self, state: WorkspaceState, seq: int, source: str) -> list[Action]:
        """As `closed_views`, but what another publisher shows too stays, as that one's."""
        for key in [key for key in self._views if key[1] == source]:
            del self._views[key]
        actions = closed_views(state, source)
        return [*actions, *self._handed_over(state, seq, actions, source)]

    def _handed_over(
        self, state: WorkspaceState, seq: int, actions: Sequence[Action], leaving: str
    ) -> list[Action]:
        after = _folded(state, seq, actions, leaving)
        self._views = {key: each for key, each in self._views.items() if key[1] in after.views.get(key[0], {})}
        found: list[Action] = []
        for (vault, source), snapshot in self._views.items():
            if source == leaving:
                continue
            current = _with_present_paths(snapshot, state, vault)
            kept = handed_over(state.of(vault), after.of(vault), current)
            found += [Action(data, vault=vault, source=source) for data in kept]
            after = _folded(state, seq, [*actions, *found], leaving)
        return found


def _with_present_paths(snapshot: Snapshot, state: WorkspaceState, vault: VaultId) -> Snapshot:
    """The snapshot after the renames that came after it. A path that is shown belongs to a new note."""
    sub = state.of(vault)
    shown = {*sub.pins, *sub.tabs, *([sub.active.id] if sub.active is not None else [])}

    def present(note: NoteId) -> NoteId:
        return note if note in shown else sub.former.get(note, note)

    return replace(
        snapshot,
        active=present(snapshot.active) if snapshot.active is not None else None,
        pins=[present(note) for note in snapshot.pins],
        tabs=[SnapshotTab(present(tab.note), tab.source) for tab in snapshot.tabs],
    )


def _folded(state: WorkspaceState, seq: int, actions: Sequence[Action], source: str) -> WorkspaceState:
    for number, action in enumerate(actions, start=seq + 1):
        event = c.ENTRY_OF[type(action.data)].event
        state = apply(state, event(number, "", "", action.source or source, action.vault, action.data))
    return state
