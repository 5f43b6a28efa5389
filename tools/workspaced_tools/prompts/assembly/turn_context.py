"""The third layer: what this turn's message brings besides the user's words.

What stands above in its present version is a line, or nothing where nothing has to be said; what changed is a
unified diff where that is less than half of the whole; else it is whole.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from workspaced_events.ids import NoteId

from ...errors import NotRecorded
from ...limits import IMAGES_BYTES_MAX
from ..model import blocks as b
from ..model.changes import unified_diff
from ..model.sent_so_far import SentSoFar
from ..model.sent_turn import CHANGES, FRAME, PIN, SentPart, key_of
from ..model.token_estimate import IMAGE_TOKENS, estimate_tokens
from ..model.types import Artifact, Present, Provided, Texts
from ..model.untrusted_text import escape_field
from ..sources.environment import OTHER_VAULT, VAULT_IS_BACK
from ..sources.view_reader import TOO_LARGE
from .layers import LayerBuilder, LayerEntry
from .library import Item, attached_to, entry_of

DIFF_SHARE_MAX: Final = 0.5
"""A diff is sent if it has less than this share of the whole text's characters."""
ABOVE: Final = "stands above"
UNPINNED: Final = "unpinned"


class TurnContext:
    """Builds the parts of a turn's message up to its words, and their entries in the third layer.

    Attributes:
        builder: the layer.
        parts: in the order sent.
    """

    def __init__(self, builder: LayerBuilder, sent_so_far: SentSoFar, texts: Texts, fence: str) -> None:
        """`fence`: as in blocks.artifact_block."""
        self._fence = fence
        self.parts: list[SentPart] = []
        self.builder = builder
        self._sent_so_far = sent_so_far
        self._texts = texts

    def add_all(
        self,
        provided: Iterable[Provided],
        artifacts: Sequence[Artifact],
        present: Iterable[Present],
        *,
        query: bool,
    ) -> None:
        """Adds the turn's context. `query`: whether the user wrote something.

        Raises:
            NotRecorded: a text is not kept.
        """
        pins = {each.id: each for each in provided}
        for each in pins.values():
            self._add_pin(each)
        for key in [key for key in self._sent_so_far.shown if key[0] == PIN and key[1] not in pins]:
            text = VAULT_IS_BACK if key[1] == OTHER_VAULT else b.provider_gone(key[1])
            part = SentPart(PIN, key[1], text, notes=self._sent_so_far.notes(key))
            self._add(part, LayerEntry(key[1], PIN, UNPINNED), segment="provider")
        items, duplicates = attached_to(artifacts)
        self._add_tool_results([item for item in items if _is_result(item)])
        self._add_artifacts([item for item in items if not _is_result(item) and item.artifact.failed is None])
        for item in items:
            if item.artifact.failed is not None:
                self._add_failed(item)
        self._add_changes(present)
        self._add_images([item for item in items if item.artifact.kind == "image"])
        if query and any(part.text for part in self.parts if part.kind != PIN):
            self._add(SentPart(FRAME, "query", b.QUERY_FRAME), LayerEntry("query", FRAME, FRAME), shown=False)
        for artifact in duplicates:
            self.builder.record(entry_of(artifact, "duplicate", "dropped", artifact.failed))

    def _add(self, part: SentPart, entry: LayerEntry, *, segment: str = "", shown: bool = True) -> None:
        """Adds a part and its entry. `shown`: whether the layer's text has it; a frame between layers is not."""
        text, entry = b.trimmed(part.text), replace(entry, notes=part.notes)
        tokens = estimate_tokens(text) if text else 0
        if text and shown:
            self.builder.add(entry, text, seed=tokens, segment=segment)
        else:
            self.builder.record(entry, tokens, len(text.encode()))
        self.parts.append(replace(part, text=text, tokens=tokens))

    # -- pins --

    def _add_pin(self, provided: Provided) -> None:
        entry = LayerEntry(provided.id, provided.kind, "pinned", revision=provided.text_sha256)
        part = SentPart(PIN, provided.id, "", notes=provided.notes)
        if provided.failed is not None:
            part = replace(part, failed=provided.failed)
            if self._sent_so_far.failed_pins.get(provided.id) != provided.failed:
                part = replace(part, text=b.provider_unavailable(provided))
            self._add(part, replace(entry, state="failed", detail=provided.failed), segment="provider")
            return
        text = self._texts(provided.text_sha256) if provided.text_sha256 is not None else ""
        key = (PIN, provided.id)
        known = self._sent_so_far.revision(key)
        if not b.trimmed(text):
            if known is not None:
                self._add(replace(part, text=b.provider_gone(provided.id)), entry, segment="provider")
            else:
                self.builder.record(replace(entry, state="empty", notes=provided.notes))
            return
        revision = provided.text_sha256 or ""
        is_moved = (
            known is not None and provided.path is not None and self._sent_so_far.notes(key) != provided.notes
        )
        if known == revision and not is_moved:
            part, entry = (
                replace(part, revision=revision, base=revision),
                replace(entry, state="reference", detail=ABOVE),
            )
        elif known is not None:
            block = partial(b.provider_block, provided, fence=self._fence)
            # A line that goes from one list of a workspace to another is clear only with the name of its list.
            item = "- " if provided.kind == "workspace" else ""
            shown, is_whole = self._newer(known, text, block, item)
            part = replace(part, text=shown, revision=revision, base="" if is_whole else known)
            entry = entry if is_whole else replace(entry, state="changes")
        else:
            part = replace(part, text=b.provider_block(provided, text, fence=self._fence), revision=revision)
        self._add(part, entry, segment="provider")

    # -- artifacts --

    def _add_tool_results(self, items: Sequence[Item]) -> None:
        if not all(self._above(item.artifact) for item in items):
            self._add(SentPart(FRAME, "tools", b.TOOLS_HEADING), LayerEntry("tools", FRAME, FRAME))
        for item in items:
            if self._above(item.artifact):
                self._add_line(item)
            else:
                self._add_block(item)

    def _above(self, artifact: Artifact) -> bool:
        key = key_of(artifact.kind, artifact.id, artifact.revision)
        return self._sent_so_far.revision(key) == artifact.revision

    def _add_artifacts(self, items: Sequence[Item]) -> None:
        shown = [item for item in items if item.artifact.kind != "image"]
        active = next((item for item in items if item.active), None)
        if active is None and self._sent_so_far.active is not None:
            entry = LayerEntry("active_note", FRAME, FRAME)
            self._add(SentPart("active_note", "", b.NO_ACTIVE_NOTE), entry, segment="reference")
        lines = [item for item in shown if self._above(item.artifact)]
        for item in lines:
            self._add_line(item)
        for item in sorted((item for item in shown if item not in lines), key=lambda item: item.active):
            self._add_block(item)

    def _add_line(self, item: Item) -> None:
        """Points to what stands above; nothing is said of a note that was the active one before as well."""
        artifact = _as_shown(item)
        said_before = item.active and self._sent_so_far.active == artifact.id
        is_named = said_before or artifact.is_embedded  # by its note's text
        line = "" if is_named else b.above_line(artifact.id, active=item.active)
        part = replace(_part(item, line), base=artifact.revision)
        self._add(part, item.entry("reference", ABOVE if said_before else None), segment="reference")

    def _add_block(self, item: Item) -> None:
        artifact = _as_shown(item)
        text = self._texts(artifact.revision)
        known = self._sent_so_far.revision(key_of(artifact.kind, artifact.id, artifact.revision))
        if known is None:
            block = b.artifact_block(artifact, text, fence=self._fence)
            self._add(_part(item, block), item.entry())
            return
        shown, is_whole = self._newer(known, text, partial(b.artifact_block, artifact, fence=self._fence))
        if is_whole:
            self._add(_part(item, shown), replace(item.entry(), why="changed"))
        else:
            self._add(replace(_part(item, shown), base=known), item.entry("changes"))

    def _newer(self, known: str, text: str, block: Callable[..., str], item: str = "") -> tuple[str, bool]:
        """The block of a text whose version `known` stands above, and whether it is whole: else it is the changes.

        `item`: as of `unified_diff`.
        """
        whole = block(text, above="older")
        try:
            diff = unified_diff(self._texts(known), text, item=item)
        except NotRecorded:
            return whole, True
        if not diff or (not item and len(diff) >= DIFF_SHARE_MAX * len(text)):
            return whole, True
        changes = block(diff, above="changed")
        return (changes, False) if len(changes) < len(whole) else (whole, True)

    def _add_failed(self, item: Item) -> None:
        artifact = item.artifact
        is_known = artifact.kind == "image" and artifact.note is not None and self._is_told(artifact)
        text = "" if is_known else b.unavailable(artifact)
        part = replace(_part(item, text), revision="", failed=artifact.failed)
        self._add(part, item.entry("failed", artifact.failed))

    def _is_told(self, artifact: Artifact) -> bool:
        """Whether a turn that stands says that the artifact cannot be read, for that reason."""
        parts = (part for parts in self._sent_so_far.turns.values() for part in parts if part.text)
        told = (artifact.kind, artifact.id, artifact.failed)
        return any((part.kind, part.id, part.failed) == told for part in parts)

    def _add_images(self, items: Iterable[Item]) -> None:
        """Images; the layer's text has the hashes of their bytes, so its hash covers the images.

        Those of the active note have the room that other images, of this turn and of the turns before, leave.
        """
        standing = (part.bytes for parts in self._sent_so_far.turns.values() for part in parts)
        room = IMAGES_BYTES_MAX - sum(standing)
        for item in sorted(items, key=lambda item: item.artifact.is_embedded):
            artifact = item.artifact
            if artifact.failed is not None:
                continue
            if self._above(artifact):
                self._add_line(item)
                continue
            room -= artifact.bytes
            if artifact.is_embedded and room < 0:
                room += artifact.bytes
                self._add_failed(replace(item, artifact=replace(artifact, revision="", failed=TOO_LARGE)))
                continue
            self.builder.add(item.entry(), b.image_line(artifact), seed=IMAGE_TOKENS)
            part = replace(
                _part(item, ""), media_type=artifact.media_type, bytes=artifact.bytes, tokens=IMAGE_TOKENS
            )
            self.parts.append(part)

    # -- what changed since --

    def _add_changes(self, present: Iterable[Present]) -> None:
        """One line for all notes that stand in an older version, each version named once."""
        named = [each for each in present if self._is_old(each)]
        if not named:
            return
        said = ", ".join(f"{escape_field(each.id)} ({_change(each)})" for each in named)
        part = SentPart(
            CHANGES,
            CHANGES,
            f"{b.CHANGED_SINCE} {said}",
            notes=tuple(
                note for each in named for note in dict.fromkeys(map(NoteId, (each.id, each.artifact.id)))
            ),
            reported=tuple((each.id, each.state) for each in named),
        )
        self._add(part, LayerEntry(CHANGES, CHANGES, "changed"), segment="reference")

    def _is_old(self, present: Present) -> bool:
        """Whether the note still stands in another version, after a compaction too, and no turn said so."""
        shown = self._sent_so_far.revision(("note", present.id))
        is_present = (shown, present.id) == (present.artifact.revision, present.artifact.id)
        return not (shown is None or is_present or self._sent_so_far.reported.get(present.id) == present.state)


def _change(present: Present) -> str:
    if present.artifact.failed is not None:
        return "gone" if present.artifact.failed == "NOTE_NOT_FOUND" else "cannot be read now"
    counts = f"+{present.added} -{present.removed}" if present.added or present.removed else ""
    moved = f"now {escape_field(present.artifact.id)}" if present.artifact.id != present.id else ""
    return ", ".join(filter(None, (moved, counts))) or "changed"


def _is_result(item: Item) -> bool:
    return item.artifact.kind == "tool_result" and item.artifact.failed is None


def _as_shown(item: Item) -> Artifact:
    """The artifact, shown as the active note even if it was attached as a note too."""
    return replace(item.artifact, kind="active_note") if item.active else item.artifact


def _part(item: Item, text: str) -> SentPart:
    artifact = _as_shown(item)
    return SentPart(
        artifact.kind,
        artifact.id,
        text,
        revision=artifact.revision,
        title=artifact.title,
        mtime=artifact.mtime,
        notes=artifact.notes,
    )
