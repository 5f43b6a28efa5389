"""Removes from a prompt's manifest what a client may not see."""

from collections import Counter

from msgspec.structs import replace

from workspaced_events.ids import NoteId
from workspaced_events.schema.catalogue import Sharing

from ..ports.manifest import Manifest, ManifestEntry, ManifestLayer
from ..ports.prompts import PromptSource, ShownManifest
from ..prompts.model.note_names import names_of, path_in, then_and_now
from .verdicts import Verdicts


class SharedPrompts:
    """The manifests of prompts, without the entries that a client may not see."""

    def __init__(
        self,
        prompts: PromptSource,
        former: dict[NoteId, NoteId],
        level: Sharing,
        verdicts: Verdicts,
    ) -> None:
        """`former` maps former paths to present ones; a manifest holds the paths at the time of the prompt."""
        self._prompts = prompts
        self._former = former
        self._level = level
        self._verdicts = verdicts

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        stored = self._prompts.prompt(conversation, message)
        named = [(entry, names_of(entry)) for entry in stored.manifest.entries]
        self._prompts.refresh_flags(
            sorted(then_and_now({name for _, names in named for name in names.every}, self._former))
        )
        shown, hidden, counted = [], [], 0
        for entry, names in named:
            if names.is_hidden(self._verdicts, self._verdicts.withdrew):
                hidden.append(entry)
                counted += not any(map(self._verdicts.uncounted, names.every))
            else:
                shown.append(entry)
        manifest = _without(stored.manifest, shown, hidden)
        sized = self._level == "all"
        return ShownManifest(stored.seq, manifest if sized else _names_only(manifest), counted, sized)


def _without(manifest: Manifest, shown: list[ManifestEntry], hidden: list[ManifestEntry]) -> Manifest:
    """The manifest with the entries `shown`, and without the sizes of the `hidden` ones in its sums."""
    if not hidden:
        return manifest
    tokens: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in hidden:
        tokens[entry.layer] += entry.tokens
        size[entry.layer] += entry.bytes

    def reduced(layer: ManifestLayer) -> ManifestLayer:
        if layer.id not in tokens:
            return layer
        return replace(layer, hash="", tokens=layer.tokens - tokens[layer.id], bytes=layer.bytes - size[layer.id])

    return replace(
        manifest,
        layers=tuple(map(reduced, manifest.layers)),
        entries=tuple(shown),
        estimate=manifest.estimate - tokens.total(),
    )


def _names_only(manifest: Manifest) -> Manifest:
    """The manifest without anything that depends on texts: no sizes, hashes or places in notes."""
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
