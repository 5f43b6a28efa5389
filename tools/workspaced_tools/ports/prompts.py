"""The port behind the gate for assembled prompts."""

from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId

from .manifest import Manifest


class StoredManifest(msgspec.Struct, frozen=True):
    seq: int
    """Of the prompt."""
    manifest: Manifest


class PromptSource(Protocol):
    """The prompts of all conversations, before the gate limits them to one client."""

    def prompt(self, conversation: str | None, message: str | None) -> StoredManifest:
        """The whole manifest that `ManifestOf` asks for. Raises the same errors."""
        ...

    def refresh_flags(self, notes: list[NoteId]) -> None:
        """Reads the files of the notes where needed, so that it is known which of them their front matter
        withholds."""
        ...


class ShownManifest(msgspec.Struct, frozen=True, rename="camel"):
    """What a prompt of a runtime was made of, as far as a client is shown it."""

    seq: int
    """Of the prompt."""
    manifest: Manifest
    withheld: int = 0
    """The number of entries left out because they name notes that are withheld now."""
    sized: bool = True
    """Whether the manifest holds sizes; otherwise they are 0."""


NO_PROMPT_HINT: Final = "A runtime asks for one with workspaced/context/assemble."
