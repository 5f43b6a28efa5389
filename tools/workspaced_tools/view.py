"""`View`: a tool's only door to the world.

A tool is a function `(View, arguments) -> Result`. All it learns comes through here: the folded state at one
sequence, a clock, and the vault behind a port. The same function therefore answers a live call and a replayed
one, and what passed through the port is what an agent's answer was made from.

Everything the port returns is a plain value, so that it can be recorded and given again.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.state import Vault, VaultState, WorkspaceState

from .vault.note import Note, NoteFailure


class NoteRef(msgspec.Struct, frozen=True, rename="camel"):
    """A note by its names."""

    id: NoteId
    title: str
    path: str


class Resolution(msgspec.Struct, frozen=True, rename="camel"):
    """What a reference means. Exactly one of `note`, `candidates` and `near` tells.

    note: the only hit of the first stage that had one; `resolved_by` names that stage.
    candidates: several hits in one stage, workspace members first: ambiguous, never guessed.
    near: no hit at all; up to 5 notes with near titles.
    """

    note: NoteRef | None = None
    resolved_by: str | None = None
    candidates: tuple[NoteRef, ...] = ()
    near: tuple[NoteRef, ...] = ()
    heading: str | None = None
    block: str | None = None


class LinkName(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A link's target as written: without alias, heading and block, percent-decoded."""

    target: str
    wiki: bool
    """`[[target]]`; else `[text](target)`."""


class LinkTarget(msgspec.Struct, frozen=True, rename="camel"):
    """Where a link found in a note leads: `note` is None where nothing is there, or where several notes are."""

    note: NoteRef | None
    ambiguous: bool = False


class IncomingLink(msgspec.Struct, frozen=True, rename="camel"):
    """One occurrence of a link to a note."""

    source: NoteRef
    context: str
    line: int


class Incoming(msgspec.Struct, frozen=True, rename="camel"):
    """Links to a note: at most the asked-for number, and how many there are. No self-links."""

    links: tuple[IncomingLink, ...]
    total: int


class VaultPort(Protocol):
    """One vault as tools see it. Every method is safe from any thread.

    What needs the index (resolve, link_targets, incoming) waits for it to be built, at most INDEX_WAIT_S, and
    then answers from what is there; `index_state` tells. A path that names an existing file never waits.
    """

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        """Each note's present version, in the order asked, each distinct note read once, concurrently."""
        ...

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        """What an agent's reference means: the one resolver's general order (vault/resolver.py).

        Raises:
            ReferenceOutsideVault: absolute, with `..` as a component, with NUL, or through a symlink.
            ArgumentInvalid: names nothing after trimming, or is no text.
        """
        ...

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        """Where links written in `source` lead, by Obsidian's rule first, in the order given."""
        ...

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        """Links from other notes to `note`, ordered by source path and line."""
        ...

    def note_count(self) -> int:
        """How many notes the vault holds, as far as known; never waits."""
        ...

    def index_state(self) -> str:
        """`building` or `ready`."""
        ...


class View(msgspec.Struct, frozen=True):
    """The world at one moment."""

    state: WorkspaceState
    now: str
    """UTC, six fractional digits, `Z`: the form of an event's time."""
    vault: VaultPort | None
    """The current vault; None when there is none or its folder is not served."""

    @property
    def current(self) -> Vault | None:
        """The current vault's registration."""
        return self.state.vaults.get(self.state.current) if self.state.current is not None else None

    @property
    def vault_state(self) -> VaultState:
        """What is folded for the current vault."""
        return self.state.of(self.state.current)

    @property
    def as_of_seq(self) -> int:
        """The last sequence that could have changed the state."""
        return self.state.seq


__all__ = [
    "Incoming",
    "IncomingLink",
    "LinkName",
    "LinkTarget",
    "NoteRef",
    "Resolution",
    "VaultId",
    "VaultPort",
    "View",
]
