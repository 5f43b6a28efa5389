"""What the share policy leaves of a manifest."""

from collections import Counter
from typing import Final

from msgspec.structs import replace

from workspaced_events.ids import NoteId
from workspaced_events.schema.catalogue import Sharing

from ..ports.manifest import Manifest, ManifestEntry, ManifestLayer
from ..ports.prompts import PromptSource, ShownManifest, StoredManifest
from ..prompts.model.note_names import NAMED_BY_NOTES, IsWithheld, NoteNames, notes_of, path_in, then_and_now

_PINNED: Final = "pinned"


class SharedPrompts:
    """What the share policy leaves of manifests."""

    def __init__(
        self,
        prompts: PromptSource,
        former: dict[NoteId, NoteId],
        *,
        level: Sharing,
        withheld: IsWithheld,
        withdrew: IsWithheld,
    ) -> None:
        """
        Args:
            former: former paths to present ones: a manifest names notes as they were called then.
            withheld: whether a note is withheld.
            withdrew: as `Withheld.withdrew`.
        """
        self._prompts = prompts
        self._former = former
        self._level = level
        self._withheld = withheld
        self._withdrew = withdrew
        self._told: list[NoteNames] = []
        """The notes that were told of."""

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        kept = self._prompts.prompt(conversation, message)
        named = [(entry, self._names(kept, entry)) for entry in kept.manifest.entries]
        self._prompts.refresh_flags(
            sorted(then_and_now({name for _, names in named for name in names.every}, self._former))
        )
        shown, gone = [], []
        for entry, names in named:
            if self._hides(names):
                gone.append(entry)
            else:
                shown.append(entry)
                self._told.append(names)
        manifest = _without(kept.manifest, shown, gone)
        sized = self._level == "all"
        return ShownManifest(kept.seq, manifest if sized else _names_only(manifest), len(gone), sized)

    def is_current(self) -> bool:
        """Whether all that was told would be told again."""
        return not any(map(self._hides, self._told))

    def _hides(self, names: NoteNames) -> bool:
        return names.is_hidden(self._withheld, self._withdrew)

    def _names(self, kept: StoredManifest, entry: ManifestEntry) -> NoteNames:
        """The notes that an entry tells of, as they were called then."""
        if entry.why == _PINNED:
            return NoteNames(frozenset(kept.provided.get(entry.id, ())))
        names = notes_of(entry.kind, entry.id)
        if entry.kind in NAMED_BY_NOTES and (note := kept.artifacts.get(entry.id)) is not None:
            names |= NoteNames(frozenset({note}))
        return names


def _without(manifest: Manifest, shown: list[ManifestEntry], gone: list[ManifestEntry]) -> Manifest:
    """The manifest without `gone`; nothing tells how large they were."""
    if not gone:
        return manifest
    tokens: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in gone:
        tokens[entry.layer] += entry.tokens
        size[entry.layer] += entry.bytes

    def less(layer: ManifestLayer) -> ManifestLayer:
        if layer.id not in tokens:
            return layer
        return replace(layer, hash="", tokens=layer.tokens - tokens[layer.id], bytes=layer.bytes - size[layer.id])

    return replace(
        manifest,
        layers=tuple(map(less, manifest.layers)),
        entries=tuple(shown),
        estimate=manifest.estimate - tokens.total(),
    )


def _names_only(manifest: Manifest) -> Manifest:
    """The manifest with nothing that follows from texts: no sizes, no hashes, no places in notes."""
    return replace(
        manifest,
        layers=tuple(replace(each, hash="", tokens=0, bytes=0) for each in manifest.layers),
        entries=tuple(
            replace(each, id=_path(each), tokens=0, bytes=0, revision=None, detail=None)
            for each in manifest.entries
        ),
        estimate=0,
        tool_tokens=0,
    )


def _path(entry: ManifestEntry) -> str:
    return path_in(entry.id) if entry.kind in ("selected_text", "dataview") else entry.id
