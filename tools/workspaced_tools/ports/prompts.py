"""What the gate asks for prompts that were assembled."""

from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId

from .manifest import Manifest


class StoredManifest(msgspec.Struct, frozen=True):
    """A prompt's manifest, and which notes its entries tell of beside those that their ids name."""

    seq: int
    manifest: Manifest
    artifacts: dict[str, NoteId]
    provided: dict[str, tuple[NoteId, ...]]


class PromptSource(Protocol):
    """Prompts, whoever asks for them."""

    def prompt(self, conversation: str | None, message: str | None) -> StoredManifest:
        """As `ManifestOf`, with all that is kept."""
        ...

    def refresh_flags(self, notes: list[NoteId]) -> None:
        """Looks at the notes' files where that tells which of them are withheld: a note's own flag comes to light
        only so."""
        ...


class ShownManifest(msgspec.Struct, frozen=True, rename="camel"):
    """What a prompt of a runtime was made of, as far as a client is shown it."""

    seq: int
    """Of the prompt."""
    manifest: Manifest
    withheld: int = 0
    """How many entries are left out because they tell of notes that are withheld by now."""
    sized: bool = True
    """Whether sizes are told; else they are 0."""


NO_PROMPT_HINT: Final = "A runtime asks for one with workspaced/context/assemble."
