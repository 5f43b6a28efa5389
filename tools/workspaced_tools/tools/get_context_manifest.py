"""`get_context_manifest`: the parts that a prompt holds or left out, with reasons."""

from typing import Any, Final

from pydantic import Field

from ..limits import MANIFEST_CHARS_MAX, WARNINGS_CHARS_MAX
from ..ports.manifest import Manifest, ManifestEntry
from ..ports.prompts import ShownManifest
from ..ports.questions import ManifestOf
from ..ports.view import View
from .tool import Answer, Arguments, Json, Model, Tool
from .visit_answers import Room

_NOT_WHOLE: Final = frozenset({"shortened", "elided", "dropped", "failed", "stale"})


class GetContextManifest(Arguments):
    conversation: str | None = Field(None, description="Default: latest.")
    message: str | None = Field(None, description="Default: last.")


class ShownEntry(Model):
    id: str
    kind: str
    state: str
    why: str
    tokens: int | None = None
    """Absent, like all sizes, for a client that may see only names."""
    cached: bool
    detail: str | None = None


class ShownLayer(Model):
    id: str
    tokens: int | None = None
    stable: bool
    """Whether the layer equals that of the prompt before, or only adds to its end."""
    entries: list[ShownEntry]


class ContextManifest(Model):
    conversation: str
    message: str
    estimate: int | None = None
    """Tokens, including the tools' definitions. The limit is in the message."""
    layers: list[ShownLayer]


def get_context_manifest(view: View, arguments: GetContextManifest) -> Answer:
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
    data: Json = {
        "conversation": manifest.conversation,
        "message": manifest.message,
        **_sized(shown, estimate=manifest.estimate),
        "layers": [
            {
                "id": layer.id,
                **_sized(shown, tokens=layer.tokens),
                "stable": layer.stable,
                "entries": [
                    _entry(each, shown)
                    for each in manifest.entries
                    if each.layer == layer.id and id(each) in included
                ],
            }
            for layer in manifest.layers
        ],
    }
    warnings = [each[:WARNINGS_CHARS_MAX] for each in manifest.warnings]
    if shown.withheld:
        warnings.append(f"{shown.withheld} entries of notes that are withheld by now are left out.")
    if left_out:
        warnings.append(f"The answer is full: {left_out} entries are left out.")
    return Answer(data, _message(manifest, sized=shown.sized), warnings)


def _sized(shown: ShownManifest, **sizes: int) -> Json:
    return sizes if shown.sized else {}


def _entry(entry: ManifestEntry, shown: ShownManifest) -> Json:
    fields: Json = {
        "id": entry.id,
        "kind": entry.kind,
        "state": entry.state,
        "why": entry.why,
        **_sized(shown, tokens=entry.tokens),
        "cached": entry.cached,
    }
    return fields if entry.detail is None else {**fields, "detail": entry.detail}


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
