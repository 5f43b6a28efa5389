"""`get_context_manifest`: the parts that a prompt holds or left out, with reasons."""

from typing import Any, Final

from pydantic import Field

from ..answers import ContextManifest, ShownEntry, ShownLayer
from ..limits import MANIFEST_CHARS_MAX, WARNINGS_CHARS_MAX
from ..ports.manifest import Manifest, ManifestEntry, ShownManifest
from ..ports.questions import ManifestOf
from ..ports.view import View
from .tool import Answer, Arguments, Tool
from .visit_answers import Room

_NOT_WHOLE: Final = frozenset({"shortened", "elided", "dropped", "failed", "stale"})


class GetContextManifest(Arguments):
    conversation: str | None = Field(None, description="Default: latest.")
    message: str | None = Field(None, description="Default: last.")


def get_context_manifest(view: View, arguments: GetContextManifest) -> Answer[ContextManifest]:
    """The manifest of a prompt that was assembled for a runtime.

    If there is no room for all entries, those that are not whole in the prompt have priority.

    Raises:
        ArgumentInvalid: there is no such conversation, or no prompt for that message.
        NotRecorded: no prompt was assembled, or its manifest is not kept.
    """
    shown = view.vault.ask(ManifestOf(arguments.conversation, arguments.message))
    manifest = shown.manifest
    by_need = sorted(manifest.entries, key=lambda entry: entry.state not in _NOT_WHOLE)
    entries = Room(MANIFEST_CHARS_MAX).fitting(_entry(entry, shown) for entry in by_need)
    included = set(map(id, by_need[: len(entries)]))
    left_out = len(manifest.entries) - len(entries)
    layers = [
        ShownLayer(
            id=layer.id,
            tokens=layer.tokens if shown.sized else None,
            stable=layer.stable,
            entries=[
                _entry(each, shown) for each in manifest.entries if each.layer == layer.id and id(each) in included
            ],
        )
        for layer in manifest.layers
    ]
    estimate = manifest.estimate if shown.sized else None
    warnings = [each[:WARNINGS_CHARS_MAX] for each in manifest.warnings]
    if shown.withheld:
        warnings.append(f"{shown.withheld} entries of notes that are withheld by now are left out.")
    if left_out:
        warnings.append(f"The answer is full: {left_out} entries are left out.")
    data = ContextManifest(
        conversation=manifest.conversation, message=manifest.message, estimate=estimate, layers=layers
    )
    return Answer(data, _message(manifest, sized=shown.sized), warnings)


def _entry(entry: ManifestEntry, shown: ShownManifest) -> ShownEntry:
    return ShownEntry(
        id=entry.id,
        kind=entry.kind,
        state=entry.state,
        why=entry.why,
        tokens=entry.tokens if shown.sized else None,
        cached=entry.cached,
        detail=entry.detail,
    )


def _message(manifest: Manifest, *, sized: bool) -> str:
    not_whole = sum(entry.state in _NOT_WHOLE for entry in manifest.entries)
    size = f"{manifest.estimate} of {manifest.limit} tokens; " if sized else ""
    return f"{size}{not_whole} of {len(manifest.entries)} entries are not whole in the prompt."


TOOL: Final[Tool[Any]] = Tool(
    name="get_context_manifest",
    description="What the last prompt held and left out, and why.",
    arguments=GetContextManifest,
    data=ContextManifest,
    function=get_context_manifest,
)
