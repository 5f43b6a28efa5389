"""Prompts without the parts that hidden notes are in: manifests, and envelopes that were rebuilt.

A turn is repeated as it was sent, and answers quote, so a message may hold a note that it does not name. Therefore
of a prompt with hidden notes only instructions, the question and notes that may be shown keep texts and sizes.
"""

from collections import Counter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_tools.ports.manifest import Manifest, ManifestEntry
from workspaced_tools.ports.prompts import ShownManifest, StoredManifest
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, NoteNames, notes_of
from workspaced_tools.prompts.model.types import Envelope, Layer, Segment
from workspaced_tools.sharing.manifests import SharedPrompts

from .withheld_notes import WithheldNotes

Json = dict[str, Any]

_OWN_KINDS: Final = frozenset({"section", "instruction", "query"})
"""Kinds of parts that no note is in: our words, the runtime's, and what the person asks in this turn."""


class Withheld(msgspec.Struct, frozen=True, rename="camel"):
    """Stands where a text was that shows withheld notes."""

    withheld: int | None
    """How many notes; None: it is not known whether there are any."""


class ShownParts:
    """What may show of the prompts of one vault."""

    def __init__(self, notes: WithheldNotes, vault: VaultId | None) -> None:
        self._notes = notes
        self._vault = vault

    def manifest(self, stored: StoredManifest) -> ShownManifest:
        """The manifest of a prompt with hidden notes, without their entries."""
        shared = SharedPrompts(
            _OnePrompt(stored), {}, level="all", withheld=self._is_hidden, withdrew=self._is_withheld
        )
        shown = shared.manifest(None, None)
        return replace(shown, manifest=self._sized(shown.manifest))

    def may_show(self, part: Segment | ManifestEntry) -> bool:
        """Whether a part of a prompt with hidden notes may show: what no note is in, and notes that are shown."""
        names = notes_of(part.kind, part.id)
        is_note = part.kind in NOTE_KINDS and bool(names.notes)
        return part.kind in _OWN_KINDS or (is_note and not self._notes.hidden(self._vault, names))

    def layer(self, layer: Layer, gone: Json) -> Json:
        """A layer with `gone` for the texts that must not show."""
        plain: Json = msgspec.to_builtins(layer)
        may_show = list(map(self.may_show, layer.segments))
        if all(may_show) and (may_show or not layer.text):
            return plain
        segments = [
            each if shown else {"id": None, "kind": each["kind"], "text": gone, "tokens": None}
            for shown, each in zip(may_show, plain.get("segments", ()), strict=True)
        ]
        return {**plain, "text": gone, "hash": None, "segments": segments}

    def _sized(self, manifest: Manifest) -> Manifest:
        """A manifest with the sizes only of what may show, and their sums."""
        entries = tuple(
            replace(each, detail=None)
            if self.may_show(each)
            else replace(each, tokens=0, bytes=0, revision=None, detail=None)
            for each in manifest.entries
        )
        tokens, size = Counter[str](), Counter[str]()
        for each in entries:
            tokens[each.layer] += each.tokens
            size[each.layer] += each.bytes
        layers = tuple(
            replace(each, hash="", tokens=tokens[each.id], bytes=size[each.id]) for each in manifest.layers
        )
        return replace(manifest, layers=layers, entries=entries, estimate=tokens.total(), warnings=())

    def _is_hidden(self, note: NoteId) -> bool:
        return bool(self._notes.hidden(self._vault, NoteNames(frozenset({note}))))

    def _is_withheld(self, note: NoteId) -> bool:
        return bool(self._notes.hidden(self._vault, NoteNames(perhaps=frozenset({note}))))


def envelope(
    shown: ShownParts, envelope: Envelope, manifest: ShownManifest | Withheld, number: int | None
) -> Json:
    """The JSON of a rebuilt prompt in which `number` notes are hidden (None: not known).

    Its messages, hashes and sums are withheld, because they hold all parts.
    """
    gone = msgspec.to_builtins(Withheld(number))
    return {
        **msgspec.to_builtins(envelope),
        "layers": [shown.layer(each, gone) for each in envelope.layers],
        "messages": gone,
        "hashes": gone,
        "combinedHash": None,
        "manifest": msgspec.to_builtins(manifest if isinstance(manifest, Withheld) else manifest.manifest),
        "cacheHints": gone,
        "estimate": None,
    }


class _OnePrompt:
    """Implements `PromptSource` for one prompt; the mask asks for its notes by itself."""

    def __init__(self, stored: StoredManifest) -> None:
        self._stored = stored

    def prompt(self, _conversation: str | None, _message: str | None) -> StoredManifest:
        return self._stored

    def refresh_flags(self, notes: list[NoteId]) -> None:
        pass
