"""Writes the parts of a prompt: blocks that no text inside can close, and the lines around them.

Identical input gives identical bytes: no clock, no counts, nothing specific to the machine.
"""

from typing import Final, Literal

import regex

from .types import Artifact, Provided
from .untrusted_text import RESERVED, escape_field, render_block, skeleton

BLANK_LINE: Final = "\n\n"
TRIMMED: Final = " \t\r\n"
"""Cut off around texts. `str.strip` would cut more than other runtimes do (U+FEFF, U+001C to U+001F)."""
LIBRARY_FRAME: Final = f"## Context Library{BLANK_LINE}The following notes are available for reference:"
TOOLS_HEADING: Final = "# Additional context:"
NO_ACTIVE_NOTE: Final = "Active note: none attached"
CHANGED_SINCE: Final = "Changed since shown above:"
QUERY_FRAME: Final = f"---{BLANK_LINE}[User query]:"
REPLACES_EARLIER: Final = "This is the current version. The one above is out of date."
"""Goes into a field before the content, where no note text can be."""
CHANGES_TO: Final = "A unified diff against the version above."

_CALLED: Final = regex.compile(r"[A-Za-z][A-Za-z0-9_-]*+")
_PINNED: Final = "pinned_context"
_SUMMARY: Final = "conversation_summary"
_OURS: Final = RESERVED | {_PINNED, _SUMMARY}
_OURS_AS_READ: Final = frozenset(
    map(
        skeleton,
        _OURS | {"document_sources", "source_number", "left_out", "replaces_earlier", "changes_to", "user_query"},
    )
)
"""Names that a tool's block may not have in any spelling."""
_TOOL_NAME_CHARS_MAX: Final = 64
_PATH_KINDS: Final = frozenset({"note", "active_note", "selected_text", "file", "pdf"})


def trimmed(text: str) -> str:
    return text.strip(TRIMMED)


Above = Literal["nothing", "older", "changed"]
"""What stands further above: nothing; an older version, which the block replaces; or one that it changes, being a
unified diff."""
_ABOVE: Final[dict[Above, dict[str, str]]] = {
    "nothing": {},
    "older": {"replaces_earlier": REPLACES_EARLIER},
    "changed": {"changes_to": CHANGES_TO},
}


def artifact_block(artifact: Artifact, text: str, *, fence: str, above: Above = "nothing") -> str:
    """The artifact with its whole text, or with the changes to it.

    The result of a tool is called as the tool was, such as `localSearch`: by its title or its id, if one can be a
    block's name and does not read as that of another block or field.

    `fence`, here and below: the conversation.
    """
    fields = {"title": artifact.title or artifact.id}
    fields["path" if artifact.kind in _PATH_KINDS else "source"] = artifact.id
    if artifact.mtime is not None:
        fields["mtime"] = artifact.mtime
    name: str = "note_context" if artifact.kind == "note" else artifact.kind
    if above == "changed":
        name = f"{artifact.kind}_changes"
    elif name == "tool_result":
        name = next(filter(_is_called, (artifact.title, artifact.id)), name)
    return render_block(
        name, {**fields, **_ABOVE[above]}, text, fence=fence_of(fence, artifact.id, artifact.revision)
    )


def provider_block(provided: Provided, text: str, *, fence: str, above: Above = "nothing") -> str:
    """As `artifact_block`, of a pin."""
    path = {"path": provided.path} if provided.path is not None else {}
    fields = {"title": provided.id, "source": provided.kind, **path, **_ABOVE[above]}
    name = f"{_PINNED}_changes" if above == "changed" else _PINNED
    return render_block(name, fields, text, fence=fence_of(fence, provided.id, provided.text_sha256))


def fence_of(conversation: str, name: str, revision: str | None) -> str:
    """What fences the body of the block of an artifact or a pin, in that revision."""
    return f"{conversation}\n{name}\n{revision}"


def _is_called(tool: str) -> bool:
    is_name = len(tool) <= _TOOL_NAME_CHARS_MAX and _CALLED.fullmatch(tool) is not None
    return is_name and skeleton(tool) not in _OURS_AS_READ


def provider_gone(pin: str) -> str:
    return f"[No longer pinned: {escape_field(pin)}]"


def above_line(artifact_id: str, *, active: bool) -> str:
    """The line for an artifact that stands further above."""
    what = "Active note" if active else "Attached"
    return f"{what}: {escape_field(artifact_id)} (above)"


def summary_block(text: str | None, *, fence: str) -> str:
    """Nothing if there is no summary."""
    return render_block(_SUMMARY, {}, text, fence=fence) if text is not None else ""


def image_line(artifact: Artifact) -> str:
    """Names an image and the hash of its bytes in the layer's text; the message carries the image itself."""
    return f"[Image: {escape_field(artifact.title or artifact.id)}, {artifact.media_type}, {artifact.revision}]"


def unavailable(artifact: Artifact) -> str:
    """A placeholder for an artifact that could not be read."""
    what = "Image" if artifact.kind == "image" else "Attachment"
    return f"[{what} unavailable: {escape_field(artifact.title or artifact.id)}]"


def provider_unavailable(provided: Provided) -> str:
    return f"[Pinned context unavailable: {escape_field(provided.id)}]"
