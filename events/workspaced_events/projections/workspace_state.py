"""`WorkspaceState`: the fold of the log, and its JSON form.

Values are frozen and shared between states. Mappings inside count as values too: the fold copies a mapping before
a change, so a returned state never changes. Their order is the order of the lists.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ..clock import ClockStep
from ..ids import NoteId, TabId, VaultId
from ..schema.catalogue import Confidence, Sharing, TabSource, Volunteering
from .conversations import NO_CONVERSATIONS, Conversations
from .insertions import Insertions
from .peers import NO_PEERS, Peers


class ActiveNote(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    since: str
    publisher: str = ""
    """The source that showed the note last (it leaves with the source's view)."""


class Pin(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    pinned_at: str
    publisher: str
    """The source of its event (workspaced/snapshot touches only its own pins)."""


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


class Vault(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    id: VaultId
    name: str
    path: str
    open: bool
    files: tuple[str, ...] = ()
    """Globs of the files that are notes beside Markdown."""


class Pause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """While it lasts, nothing of what the user does is recorded, and agents are answered nothing."""

    since: str
    until: str | None = None
    """When it ends by itself; None: the user ends it."""


class VaultState(msgspec.Struct, frozen=True):
    """The state of one vault."""

    active: ActiveNote | None = None
    pins: dict[NoteId, Pin] = {}
    tabs: dict[NoteId, Tab] = {}
    recents: dict[NoteId, str] = {}
    """For each note the time it was last active, oldest first."""
    selection: Selection | None = None
    archived: dict[NoteId, None] = {}
    former: dict[NoteId, NoteId] = {}
    """For each former path the present path of its note."""
    last_updated: str | None = None

    @property
    def latest_time(self) -> str | None:
        """The latest time in the lists; `last_updated` moves with notes that are no longer in them, too."""
        times = [each.pinned_at for each in self.pins.values()]
        times += (max(each.opened_at, each.last_accessed) for each in self.tabs.values())
        times += self.recents.values()
        if self.active is not None:
            times.append(self.active.since)
        if self.selection is not None:
            times.append(self.selection.at)
        return max(times, default=None)

    def current_path(self, note: NoteId) -> NoteId | None:
        """The present path of the note last renamed away from `note`; None if no rename is known."""
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
    """Every vault ever registered, including closed ones."""
    by_vault: dict[VaultId, VaultState] = {}
    unknown_events: int = 0
    sharing: dict[str, Sharing] = {}
    """Share level by case-folded client name; ANY_CLIENT holds the default. Empty: all clients see everything."""

    conversations: Conversations = NO_CONVERSATIONS
    """They do not move `seq`, because no tool that answers from the workspace sees them."""
    clock_steps: tuple[ClockStep, ...] = ()
    """The latest CLOCK_STEPS_MAX times the clock was set."""
    volunteering: dict[str, Volunteering] = {}
    """By client, as `sharing`. Empty: all clients are told without asking."""
    paused: Pause | None = None
    views: dict[VaultId, dict[str, Confidence | None]] = {}
    """For each vault the sources with an open view (`view_opened`), the oldest first. None: it is not inferred."""
    peers: Peers = NO_PEERS
    """The other machines of the link. What they do does not move `seq`."""
    insertions: Insertions = {}
    """They do not move `seq` either."""

    def sharing_of(self, client: str) -> Sharing:
        """The share level of a client."""
        if not self.sharing:
            return "all"
        level = self.sharing.get(client_key(client))
        return level if level is not None else self.sharing.get(ANY_CLIENT, "all")

    def volunteering_of(self, client: str) -> Volunteering:
        """Whether a client is told without asking."""
        own = self.volunteering.get(client_key(client))
        return own if own is not None else self.volunteering.get(ANY_CLIENT, "on")

    def of(self, vault: VaultId | None) -> VaultState:
        """The state of `vault`; empty for None or a vault without events."""
        return self.by_vault.get(vault, EMPTY_VAULT) if vault is not None else EMPTY_VAULT


def client_key(client: str) -> str:
    """The key of a client's share level. Gemini CLI's names differ by MCP server; they have one key."""
    key = client.strip().casefold()
    return GEMINI if key.startswith(GEMINI) else key


ANY_CLIENT: Final = "*"
GEMINI: Final = "gemini-cli-mcp-client"
EMPTY_VAULT = VaultState()
EMPTY = WorkspaceState()


# -- the JSON form --


class ActiveNoteJson(msgspec.Struct, frozen=True, rename="camel"):
    id: NoteId
    since: str


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
    active_note: ActiveNoteJson | None
    active_tab_id: TabId | None
    pinned_notes: list[PinJson]
    temporary_tabs: list[TabJson]
    recent_notes: list[RecentJson]
    selection: Selection | None
    archived: list[NoteId]
    last_updated: str | None
    sharing: dict[str, Sharing] | msgspec.UnsetType = msgspec.UNSET
    """Omitted if every client sees everything."""
    volunteering: dict[str, Volunteering] | msgspec.UnsetType = msgspec.UNSET
    """Omitted if every client is told without asking."""
    paused: Pause | msgspec.UnsetType = msgspec.UNSET
    """Omitted unless the workspace is paused."""
    also_at: Sequence[int] | msgspec.UnsetType = msgspec.UNSET
    """For a state at a time that the log holds more than once: the sequences of the other moments."""


def to_json(state: WorkspaceState, vault: VaultId | None = None, also_at: Sequence[int] = ()) -> StateJson:
    """The JSON form of `state` for `vault` (default: the current one). Open vaults only; newest recents first."""
    vault_state = state.of(vault if vault is not None else state.current)
    active = vault_state.active
    return StateJson(
        seq=state.seq,
        current_vault_id=state.current,
        vaults=[VaultJson(v.id, v.name, v.path) for v in state.vaults.values() if v.open],
        active_note=ActiveNoteJson(active.id, active.since) if active is not None else None,
        active_tab_id=vault_state.active_tab_id,
        pinned_notes=[PinJson(pin.id, pin.pinned_at) for pin in vault_state.pins.values()],
        temporary_tabs=[
            TabJson(tab.id, tab.note_id, tab.source, tab.opened_at, tab.last_accessed)
            for tab in vault_state.tabs.values()
        ],
        recent_notes=[RecentJson(note, at) for note, at in reversed(vault_state.recents.items())],
        selection=vault_state.selection,
        archived=list(vault_state.archived),
        last_updated=vault_state.last_updated,
        sharing=state.sharing or msgspec.UNSET,
        volunteering=state.volunteering or msgspec.UNSET,
        paused=state.paused if state.paused is not None else msgspec.UNSET,
        also_at=also_at or msgspec.UNSET,
    )
