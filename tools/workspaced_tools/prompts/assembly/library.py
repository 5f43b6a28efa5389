"""The context library: what a turn's artifacts are to it, and what becomes of it.

What was attached once stands in the library from the next turn on, in the order first seen, for ever in the same
bytes. So a provider's cache keeps it, and attaching it again costs one line. What changed since stands in full in
each turn that it is attached to, until the library is rebased.

The active note is in the library as the note that it is; only its turn's block says that it is active. In there is
never: what is said once (selected text, results of tools, skills), images, and notes that embed images.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import ArtifactKind, LibraryEntry

from ..model.blocks import artifact_block
from ..model.token_estimator import seed_tokens
from ..model.types import Artifact, Texts, Turn
from .layers import sha256_hex

LIBRARY_KINDS: Final = frozenset[ArtifactKind]({"note", "url", "pdf", "file", "dataview"})

How = Literal["reference", "changed", "new"]


class Item(msgspec.Struct, frozen=True):
    """An artifact of a turn, each once."""

    artifact: Artifact
    how: How
    """`reference`: the library holds this very version; `changed`: another one; `new`: none."""
    active: bool = False


class Attached(msgspec.Struct, frozen=True):
    """A turn's artifacts, in the order attached."""

    items: tuple[Item, ...]
    duplicates: tuple[Artifact, ...]
    """What is among the items already."""


def library_kind(kind: ArtifactKind) -> ArtifactKind:
    """What the library calls that kind: the active note is a note."""
    return "note" if kind == "active_note" else kind


def attached_to(artifacts: Sequence[Artifact], library: Sequence[LibraryEntry]) -> Attached:
    """The artifacts against the library; of one thing that is attached twice the first that could be read."""
    entries = {(entry.id, entry.kind): entry for entry in library}
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, artifact in enumerate(artifacts):
        groups.setdefault(_identity(artifact), []).append(at)
    items, duplicates = [], set(range(len(artifacts)))
    for group in groups.values():
        best = min(group, key=lambda at: (artifacts[at].failed is not None, at))
        duplicates.discard(best)
        artifact = artifacts[best]
        entry = entries.get((artifact.id, library_kind(artifact.kind)))
        active = any(artifacts[at].kind == "active_note" for at in group)
        items.append(Item(artifact, _how(artifact, entry), active))
    return Attached(tuple(items), tuple(artifacts[at] for at in sorted(duplicates)))


def _identity(artifact: Artifact) -> tuple[str, ...]:
    """What is the same for the same thing: of what is said once, what it says too."""
    kind = library_kind(artifact.kind)
    return (kind, artifact.id) if kind in LIBRARY_KINDS else (kind, artifact.id, artifact.revision)


def _how(artifact: Artifact, entry: LibraryEntry | None) -> How:
    if entry is None or artifact.failed is not None:
        return "new"
    return "reference" if entry.revision == artifact.revision else "changed"


def may_be_kept(artifact: Artifact) -> bool:
    """Whether the library may hold this version."""
    kept = library_kind(artifact.kind) in LIBRARY_KINDS
    return kept and artifact.failed is None and not artifact.has_images


class LibraryIndex:
    """Renders artifacts, each once, and makes entries of the library of them.

    Attributes:
        blocks: of the entries made, by their sha256: blobs to be.
    """

    def __init__(self, texts: Texts) -> None:
        self.blocks: dict[str, str] = {}
        self._texts = texts
        self._rendered: dict[tuple[ArtifactKind, str, str, bool], tuple[str, int]] = {}

    def block(self, artifact: Artifact, *, replaces: bool = False) -> tuple[str, int]:
        """The artifact in full, and the seed tokens of that.

        Raises:
            NotRecorded: its text is not kept.
        """
        key = (artifact.kind, artifact.id, artifact.revision, replaces)
        if key not in self._rendered:
            block = artifact_block(artifact, self._texts(artifact.revision), replaces=replaces)
            self._rendered[key] = (block, seed_tokens(block))
        return self._rendered[key]

    def entry(self, artifact: Artifact, message: MessageId) -> LibraryEntry:
        """What the library holds of it, if it first saw it in the turn of `message`.

        Raises:
            NotRecorded: its text is not kept.
        """
        kind = library_kind(artifact.kind)
        block, tokens = self.block(replace(artifact, kind=kind))
        sha256 = sha256_hex(block)
        self.blocks[sha256] = block
        return LibraryEntry(artifact.id, kind, artifact.revision, sha256, tokens, message)


def rebase_reason(
    turn: Turn, items: Sequence[Item], library: Sequence[LibraryEntry]
) -> Literal["asked", "replaced"] | None:
    """Why the library is to hold this turn's versions of what changed; None: it keeps its bytes."""
    changed = {item.artifact.id for item in items if item.how == "changed"}
    if not changed:
        return None
    if turn.rebase:
        return "asked"
    replaced = sum(entry.tokens for entry in library if entry.id in changed)
    share_max = turn.policy.replaced_share_max * sum(entry.tokens for entry in library)
    return "replaced" if replaced > share_max else None


def refreshed(
    library: Sequence[LibraryEntry],
    items: Sequence[Item],
    shelf: LibraryIndex,
) -> tuple[LibraryEntry, ...]:
    """The library with this turn's versions of what changed, each in its place; without what it may not hold."""
    changed = {item.artifact.id: item.artifact for item in items if item.how == "changed"}
    kept = []
    for entry in library:
        artifact = changed.get(entry.id)
        if artifact is None:
            kept.append(entry)
        elif may_be_kept(artifact):
            kept.append(shelf.entry(artifact, entry.message))
    return tuple(kept)


def promoted(
    items: Sequence[Item], library: Sequence[LibraryEntry], shelf: LibraryIndex, message: MessageId
) -> tuple[LibraryEntry, ...]:
    """What is in the library from the next turn on."""
    known = {entry.id for entry in library}
    found: dict[str, LibraryEntry] = {}
    for item in items:
        artifact = item.artifact
        if artifact.id not in known and artifact.id not in found and may_be_kept(artifact):
            found[artifact.id] = shelf.entry(artifact, message)
    return tuple(found.values())


def latest_first(
    conversation: Conversation, items: Sequence[Item], library: Sequence[LibraryEntry]
) -> tuple[str, ...]:
    """The library's ids, the one last referred to first: by this turn, then by each message before it."""
    known = {entry.id for entry in library}
    shown_in: dict[MessageId, list[str]] = {}
    for entry in library:
        shown_in.setdefault(entry.message, []).append(entry.id)
    ids = [item.artifact.id for item in items]
    for message in reversed(conversation.messages.values()):
        ids += [attachment.id for attachment in message.attachments]
        ids += shown_in.get(message.id, ())
    ids += [entry.id for entry in reversed(library)]
    return tuple(each for each in dict.fromkeys(ids) if each in known)
