"""The third layer: the context that a turn's user message has besides the user's words.

In this order: pinned providers; results of tools; artifacts with their whole text, the active note last; failed
artifacts; images. The history of later prompts has none of these.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from ..model import blocks as b
from ..model.token_estimator import IMAGE_TOKENS, seed_tokens
from ..model.types import Artifact, Block, Provided, Texts
from ..sources.search_block import DOCUMENT_CHARS_MAX, Numbers, read_search, search_block
from ..sources.surroundings import LEFT_OUT, SHORTENED, around, is_cursor, marked_block
from .layers import LayerBuilder, LayerEntry, joined
from .library import Attached, Item, LibraryIndex, entry_of

_CUT: Final = f"documents are cut to {DOCUMENT_CHARS_MAX} characters"
_ELSEWHERE: Final = frozenset({"tool_result", "image"})


class Payload(msgspec.Struct, frozen=True):
    builder: LayerBuilder
    providers: tuple[Block, ...]
    context: str
    images: tuple[Block, ...]
    is_labelled: bool
    """Whether the user's words have a label, because context comes before them."""

    def content(self, query: str) -> tuple[Block, ...]:
        """The content of the user's message; `query` is the last layer's text."""
        words = (self.context, b.QUERY_FRAME, query) if self.is_labelled else (self.context, query)
        text = b.BLANK_LINE.join(filter(None, words))
        return (*self.providers, *([Block("text", text)] if text else ()), *self.images)


class Rendering(msgspec.Struct, frozen=True):
    """Everything needed to render the payload."""

    library_index: LibraryIndex
    texts: Texts
    numbers: Numbers
    """The numbers of the sources of the turn's searches, those of its artifacts included."""
    fence: str = ""
    """As in blocks.artifact_block."""
    surroundings: bool = False
    """Whether selected text is shown with the text around it."""


def payload_of(
    builder: LayerBuilder, provided: Iterable[Provided], attached: Attached, rendering: Rendering, *, query: bool
) -> Payload:
    """Adds the turn's context to `builder`. `query`: whether the user wrote something.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: a text of the form `search` is no search.
    """
    for each in provided:
        _add_provided(builder, each, rendering)
    providers = tuple(Block("text", segment.text) for segment in builder.segments)
    _add_tool_results(builder, attached.items, rendering)
    _add_blocks(builder, attached.items, rendering)
    _add_failed(builder, attached.items)
    context = joined(builder.segments[len(providers) :])
    is_labelled = bool(context) and query
    if is_labelled:
        builder.record(LayerEntry("query", "frame", "frame"), seed_tokens(b.QUERY_FRAME), len(b.QUERY_FRAME))
    images = tuple(_images(builder, attached.items))
    for artifact in attached.duplicates:
        builder.record(entry_of(artifact, "duplicate", "dropped", artifact.failed))
    return Payload(builder, providers, context, images, is_labelled)


def _add_provided(builder: LayerBuilder, provided: Provided, rendering: Rendering) -> None:
    if provided.failed is not None:
        entry = LayerEntry(
            provided.id, provided.kind, "pinned", "failed", detail=provided.failed, notes=provided.notes
        )
        builder.add(entry, b.provider_unavailable(provided), segment="provider")
        return
    sha256 = provided.text_sha256
    text = rendering.texts(sha256) if sha256 is not None else ""
    block = b.provider_block(provided, text, fence=rendering.fence) if b.trimmed(text) else ""
    entry = LayerEntry(provided.id, provided.kind, "pinned", revision=sha256, notes=provided.notes)
    builder.add(entry, block, segment="provider")


def _add_tool_results(builder: LayerBuilder, items: Iterable[Item], rendering: Rendering) -> None:
    results = [item for item in items if item.artifact.kind == "tool_result" and item.artifact.failed is None]
    if results:
        builder.add(LayerEntry("tools", "frame", "frame"), b.TOOLS_HEADING)
    for item in results:
        if item.artifact.form == "search":
            _add_search(builder, item, rendering)
        else:
            block, seed = rendering.library_index.block(item.artifact)
            builder.add(item.entry(), block, seed=seed)


def _add_search(builder: LayerBuilder, item: Item, rendering: Rendering) -> None:
    search = read_search(rendering.texts(item.artifact.revision))
    is_cut = any(len(document.text) > DOCUMENT_CHARS_MAX for document in search.documents)
    entry = replace(item.entry(), state="shortened", detail=_CUT) if is_cut else item.entry()
    builder.add(entry, search_block(*b.block_head(item.artifact), search, rendering.numbers))


def _add_blocks(builder: LayerBuilder, items: Iterable[Item], rendering: Rendering) -> None:
    shown = [item for item in items if _is_block(item)]
    for item in sorted(shown, key=lambda item: item.active):
        if item.artifact.before or item.artifact.after:
            _add_selection(builder, item, rendering)
            continue
        block, seed = rendering.library_index.block(_as_shown(item))
        builder.add(item.entry(), block, seed=seed)


def _add_selection(builder: LayerBuilder, item: Item, rendering: Rendering) -> None:
    """Adds a selection, with the text around it if `rendering.surroundings`; a cursor always has that text."""
    artifact = item.artifact
    if not rendering.surroundings and not is_cursor(artifact):
        block, seed = rendering.library_index.block(artifact)
        builder.add(replace(item.entry(), detail=LEFT_OUT), block, seed=seed)
        return
    shown = around(artifact, rendering.texts)
    entry = replace(item.entry(), state="shortened", detail=SHORTENED) if shown.is_shortened else item.entry()
    text = rendering.texts(artifact.revision)
    builder.add(entry, marked_block(artifact, text, shown, fence=rendering.fence))


def _is_block(item: Item) -> bool:
    return item.artifact.failed is None and item.artifact.kind not in _ELSEWHERE


def _add_failed(builder: LayerBuilder, items: Iterable[Item]) -> None:
    for item in items:
        if item.artifact.failed is not None:
            builder.add(item.entry("failed", item.artifact.failed), b.unavailable(item.artifact))


def _images(builder: LayerBuilder, items: Iterable[Item]) -> Iterator[Block]:
    """The images' own blocks; the layer's text has the hashes of their bytes, so its hash covers the images."""
    for item in items:
        artifact = item.artifact
        if artifact.kind == "image" and artifact.failed is None:
            builder.add(item.entry(), b.image_line(artifact), seed=IMAGE_TOKENS)
            yield Block("image", blob=artifact.revision, media_type=artifact.media_type)


def _as_shown(item: Item) -> Artifact:
    """The artifact, shown as the active note even if it was attached as a note too."""
    return replace(item.artifact, kind="active_note") if item.active else item.artifact
