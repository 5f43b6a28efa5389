"""`WorkspaceState`: what the log folds to, and its JSON form.

Values are frozen and shared between states. The mappings inside are treated as values too: the fold copies one
before it changes it, so that a state once handed out never moves. Their order is the lists' order.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ..ids import NoteId, TabId, VaultId
from ..schema.catalogue import Sharing, TabSource
from .clock_steps import ClockStep
from .conversations import NO_CONVERSATIONS, Conversations


class ActiveNote(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    since: str


class Pin(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    pinned_at: str
    publisher: str
    """The event's source that made it (workspaced/snapshot touches only its own)."""


class Tab(msgspec.Struct, frozen=True, rename="camel"):
    id: TabId
    note_id: NoteId
    source: TabSource
    opened_at: str
    last_accessed: str
    publisher: str
    accessed_seq: int = 0
    """The sequence of `last_accessed`."""


class Selection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    note: NoteId
    start_line: int
    end_line: int
    at: str
    text: str | None = None
    text_sha256: str | None = None


class Vault(msgspec.Struct, frozen=True, rename="camel"):
    id: VaultId
    name: str
    path: str
    open: bool


class VaultState(msgspec.Struct, frozen=True):
    """What is folded for one vault."""

    active: ActiveNote | None = None
    pins: dict[NoteId, Pin] = {}
    tabs: dict[NoteId, Tab] = {}
    recents: dict[NoteId, str] = {}
    """Note to the time it was last active, oldest first."""
    selection: Selection | None = None
    archived: dict[NoteId, None] = {}
    former: dict[NoteId, NoteId] = {}
    """Former path to the present path of the note that was there."""
    last_updated: str | None = None

    def current_path(self, note: NoteId) -> NoteId | None:
        """Where the note that was last renamed away from `note` is now, or None if no rename is remembered."""
        return self.former.get(note)

    @property
    def active_tab_id(self) -> TabId | None:
        tab = self.tabs.get(self.active.id) if self.active else None
        return tab.id if tab else None


class WorkspaceState(msgspec.Struct, frozen=True):
    """The fold of a log up to `seq`, the last sequence that could change it (`asOfSeq`)."""

    seq: int = 0
    current: VaultId | None = None
    vaults: dict[VaultId, Vault] = {}
    """Every vault ever registered, closed ones included."""
    by_vault: dict[VaultId, VaultState] = {}
    unknown_events: int = 0
    sharing: dict[str, Sharing] = {}
    """Client name, case-folded, to how much it is shown; ANY_CLIENT is for all that are not named. Empty: all."""

    conversations: Conversations = NO_CONVERSATIONS
    """They do not move `seq`: no tool that answers from the workspace sees them."""
    clock_steps: tuple[ClockStep, ...] = ()
    """Where the clock was set; the latest CLOCK_STEPS_MAX."""

    def sharing_of(self, client: str) -> Sharing:
        """How much the client of that name is shown."""
        if not self.sharing:
            return "all"
        level = self.sharing.get(client_key(client))
        return level if level is not None else self.sharing.get(ANY_CLIENT, "all")

    def of(self, vault: VaultId | None) -> VaultState:
        """The state of `vault`; of none, or of one nothing happened in, the empty state."""
        return self.by_vault.get(vault, EMPTY_VAULT) if vault is not None else EMPTY_VAULT


def client_key(client: str) -> str:
    """The name of a client as levels are kept for it."""
    return client.strip().casefold()


ANY_CLIENT: Final = "*"
EMPTY_VAULT = VaultState()
EMPTY = WorkspaceState()


# -- the JSON form --


class PinJson(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    pinned_at: str


class TabJson(msgspec.Struct, frozen=True, rename="camel"):
    id: TabId
    note_id: NoteId
    source: TabSource
    opened_at: str
    last_accessed: str


class RecentJson(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    at: str


class VaultJson(msgspec.Struct, frozen=True, rename="camel"):
    id: VaultId
    name: str
    path: str


class StateJson(msgspec.Struct, frozen=True, rename="camel"):
    """The state of one vault as `workspaced/state` and `workspaced replay --json` give it."""

    seq: int
    current_vault_id: VaultId | None
    vaults: list[VaultJson]
    active_note: ActiveNote | None
    active_tab_id: TabId | None
    pinned_notes: list[PinJson]
    temporary_tabs: list[TabJson]
    recent_notes: list[RecentJson]
    selection: Selection | None
    archived: list[NoteId]
    last_updated: str | None
    sharing: dict[str, Sharing] | msgspec.UnsetType = msgspec.UNSET
    """Left out where every client is shown all."""
    also_at: Sequence[int] | msgspec.UnsetType = msgspec.UNSET
    """Of a past moment named by a time that the log holds more than once: the sequences of the others."""


def to_json(state: WorkspaceState, vault: VaultId | None = None, also_at: Sequence[int] = ()) -> StateJson:
    """The JSON form of `state` for `vault` (default: the current one). Open vaults only, newest recents first."""
    sub = state.of(vault if vault is not None else state.current)
    return StateJson(
        seq=state.seq,
        current_vault_id=state.current,
        vaults=[VaultJson(v.id, v.name, v.path) for v in state.vaults.values() if v.open],
        active_note=sub.active,
        active_tab_id=sub.active_tab_id,
        pinned_notes=[PinJson(pin.id, pin.pinned_at) for pin in sub.pins.values()],
        temporary_tabs=[
            TabJson(tab.id, tab.note_id, tab.source, tab.opened_at, tab.last_accessed) for tab in sub.tabs.values()
        ],
        recent_notes=[RecentJson(note, at) for note, at in reversed(sub.recents.items())],
        selection=sub.selection,
        archived=list(sub.archived),
        last_updated=sub.last_updated,
        sharing=state.sharing or msgspec.UNSET,
        also_at=also_at or msgspec.UNSET,
    )
