"""A turn's artifacts, each once, and the entries of the context library that are made of artifacts.

The library holds the active note as a note; only its turn's block says that the note is active. It never holds
artifacts of one turn (selected text, results of tools) or images.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.schema.catalogue import ArtifactKind, LibraryEntry

from ...ports.manifest import State
from ..model.blocks import artifact_block
from ..model.sent_turn import library_kind
from ..model.token_estimate import estimate_tokens
from ..model.types import Artifact, Texts
from .layers import LayerEntry, sha256_hex

LIBRARY_KINDS: Final = frozenset[ArtifactKind]({"note", "url", "pdf", "file", "dataview"})


class Item(msgspec.Struct, frozen=True):
    """An artifact of a turn; each artifact has one item."""

    artifact: Artifact
    active: bool = False

    def entry(self, state: State = "full", detail: str | None = None) -> LayerEntry:
        return entry_of(self.artifact, "active" if self.active else "attached", state, detail)


def entry_of(artifact: Artifact, why: str, state: State, detail: str | None) -> LayerEntry:
    revision = artifact.revision or None
    return LayerEntry(artifact.id, artifact.kind, why, state, revision, detail, artifact.notes)


def attached_to(artifacts: Sequence[Artifact]) -> tuple[list[Item], list[Artifact]]:
    """The artifacts, each once, the first one of equals that could be read; and those that repeat one."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, artifact in enumerate(artifacts):
        groups.setdefault(_identity(artifact), []).append(at)
    items, duplicates = [], set(range(len(artifacts)))
    for group in groups.values():
        best = min(group, key=lambda at: (artifacts[at].failed is not None, at))
        duplicates.discard(best)
        active = any(artifacts[at].kind == "active_note" for at in group)
        items.append(Item(artifacts[best], active))
    return items, [artifacts[at] for at in sorted(duplicates)]


def _identity(artifact: Artifact) -> tuple[str, ...]:
    """The key by which artifacts are equal; it includes the revision for kinds that the library never holds."""
    kind = library_kind(artifact.kind)
    return (kind, artifact.id) if kind in LIBRARY_KINDS else (kind, artifact.id, artifact.revision)


class LibraryIndex:
    """Renders artifacts, each once, and makes library entries for them.

    Attributes:
        blocks: the blocks of the entries made, by their sha256; they become blobs.
    """

    def __init__(self, texts: Texts, fence: str) -> None:
        """`fence`: as in blocks.artifact_block."""
        self.blocks: dict[str, str] = {}
        self._texts = texts
        self._fence = fence
        self._rendered: dict[tuple[ArtifactKind, str, str], tuple[str, int]] = {}

    def block(self, artifact: Artifact) -> tuple[str, int]:
        """The artifact with its whole text, and the block's seed tokens.

        Raises:
            NotRecorded: the artifact's text is not kept.
        """
        key = (artifact.kind, artifact.id, artifact.revision)
        if key not in self._rendered:
            block = artifact_block(artifact, self._texts(artifact.revision), fence=self._fence)
            self._rendered[key] = (block, estimate_tokens(block))
        return self._rendered[key]

    def entry(self, artifact: Artifact, message: MessageId) -> LibraryEntry:
        """The library entry of an artifact first shown in the turn of `message`.

        Raises:
            NotRecorded: the artifact's text is not kept.
        """
        kind = library_kind(artifact.kind)
        block, tokens = self.block(replace(artifact, kind=kind))
        sha256 = sha256_hex(block)
        self.blocks[sha256] = block
        return LibraryEntry(artifact.id, kind, artifact.revision, sha256, tokens, message)
