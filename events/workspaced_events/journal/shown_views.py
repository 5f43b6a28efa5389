"""`ShownViews`: the latest snapshots of all publishers, so that what one leaves and another still shows stays.

In memory only: after a start each publisher shows its view again when it connects.
"""

from collections.abc import Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from ..ids import NoteId, VaultId
from ..limits import TEMPORARY_TABS_MAX
from ..projections.workspace_state import WorkspaceState
from .actions import Action, Planned
from .view_diff import Snapshot, SnapshotTab, closed_views, differences, emptied, handed_over, vault_of


class ShownViews:
    """Used by plans only, so only by the writer's thread."""

    def __init__(self) -> None:
        self._views: dict[tuple[VaultId, str], Snapshot] = {}
        """By vault and source, by the present paths of their notes."""
        self._former: dict[VaultId, Mapping[NoteId, NoteId]] = {}
        """For each vault the former paths that the views have followed."""

    def show(self, now: Planned, snapshot: Snapshot, *, inferred: bool = False) -> list[Action]:
        """As `differences`, but what another publisher shows too stays, as that one's. An inferred view counts as
        empty while one of a publisher that knows what the user looks at is open."""
        state = now.state
        vault = vault_of(state, snapshot)
        if inferred and _is_known(state, vault, but=snapshot.source):
            snapshot = emptied(snapshot)
        self._follow_renames(state)
        actions = differences(now, snapshot, inferred=inferred)
        if vault is None:
            return actions
        actions += self._handed_over(now, actions, snapshot.source)
        self._views[vault, snapshot.source] = replace(
            snapshot, tabs=snapshot.tabs[-TEMPORARY_TABS_MAX:], selection=UNSET
        )
        return actions

    def close(self, now: Planned, source: str) -> list[Action]:
        """As `closed_views`, but what another publisher shows too stays, as that one's."""
        self._follow_renames(now.state)
        for key in [key for key in self._views if key[1] == source]:
            del self._views[key]
        actions = closed_views(now.state, source)
        return [*actions, *self._handed_over(now, actions, source)]

    def _handed_over(self, now: Planned, actions: Sequence[Action], leaving: str) -> list[Action]:
        after = now.after(actions, leaving)
        views = after.state.views
        self._views = {key: each for key, each in self._views.items() if key[1] in views.get(key[0], {})}
        found: list[Action] = []
        for (vault, source), snapshot in self._views.items():
            is_outdone = views[vault][source] is not None and _is_known(after.state, vault, but=source)
            if source == leaving or is_outdone:
                continue
            kept = [
                Action(data, vault=vault, source=source)
                for data in handed_over(now.state.of(vault), after.state.of(vault), snapshot)
            ]
            after = after.after(kept, leaving)
            found += kept
        return found

    def _follow_renames(self, state: WorkspaceState) -> None:
        """Gives the notes of all views the paths that they were renamed to since the last time.

        It cannot wait until a view is needed, since a path that is used again is another note's.
        """
        for vault, sub in state.by_vault.items():
            followed = self._former.get(vault, {})
            if sub.former is followed:
                continue
            self._former[vault] = sub.former
            renamed = {old: new for old, new in sub.former.items() if followed.get(old) != new}
            for key in [key for key in self._views if key[0] == vault]:
                self._views[key] = _renamed(self._views[key], renamed)


def _is_known(state: WorkspaceState, vault: VaultId | None, *, but: str) -> bool:
    """Whether a publisher other than `but` that knows what the user looks at has an open view."""
    views = state.views.get(vault, {}) if vault is not None else {}
    return any(confidence is None for source, confidence in views.items() if source != but)


def _renamed(snapshot: Snapshot, renamed: Mapping[NoteId, NoteId]) -> Snapshot:
    return replace(
        snapshot,
        active=renamed.get(snapshot.active, snapshot.active) if snapshot.active is not None else None,
        pins=[renamed.get(note, note) for note in snapshot.pins],
        tabs=[SnapshotTab(renamed.get(tab.note, tab.note), tab.source) for tab in snapshot.tabs],
    )
