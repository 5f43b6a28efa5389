"""The third layer: what a turn's user message is sent with, besides the user's words.

In this order: pinned providers; results of tools; references to the library; what is new or changed, in full, the
active note last; what could not be read; images. A message's later history has nothing of it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from ...ports.manifest import State
from ..model import blocks as b
from ..model.token_estimator import IMAGE_TOKENS, seed_tokens
from ..model.types import Artifact, Block, Provided, Segment, Texts
from ..sources.search_block import DOCUMENT_CHARS_MAX, Numbers, read_search, search_block
from ..sources.surroundings import LEFT_OUT, SHORTENED, around, is_cursor, marked_block
from .layers import LayerBuilder, LayerEntry, joined
from .library import Attached, Item, LibraryIndex

_CUT: Final = f"documents are cut to {DOCUMENT_CHARS_MAX} characters"
_ELSEWHERE: Final = frozenset({"tool_result", "image"})


class Payload(msgspec.Struct, frozen=True):
    sheet: LayerBuilder
    providers: tuple[Block, ...]
    context: str
    images: tuple[Block, ...]
    is_labelled: bool
    """Whether the user's words have a label: they stand behind context."""

    def content(self, query: str) -> tuple[Block, ...]:
        """Of the message; `query` is the last layer's text."""
        words = (self.context, b.QUERY_FRAME, query) if self.is_labelled else (self.context, query)
        text = b.BLANK_LINE.join(filter(None, words))
        return (*self.providers, *([Block("text", text)] if text else ()), *self.images)


class RenderedBlock(msgspec.Struct, frozen=True):
    """What the payload is drawn with."""

    shelf: LibraryIndex
    texts: Texts
    numbers: Numbers
    """Of the sources of the turn's searches, those of its artifacts included."""
    surroundings: bool = False
    """Whether selected text is shown in what stands around it."""


def payload_of(
    sheet: LayerBuilder, provided: Iterable[Provided], attached: Attached, drawn: RenderedBlock, *, query: bool
) -> Payload:
    """Draws it on `sheet`. `query`: whether the user said something.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: a search is none.
    """
    for each in provided:
        _add_provided(sheet, each, drawn.texts)
    providers = tuple(Block("text", segment.text) for segment in sheet.segments)
    _add_tool_results(sheet, attached.items, drawn)
    _add_references(sheet, attached.items)
    _add_blocks(sheet, attached.items, drawn)
    _add_failed(sheet, attached.items)
    context = joined(sheet.segments[len(providers) :])
    is_labelled = bool(context) and query
    if is_labelled:
        sheet.record(LayerEntry("query", "frame", "frame"), seed_tokens(b.QUERY_FRAME), len(b.QUERY_FRAME))
    images = tuple(_images(sheet, attached.items))
    for artifact in attached.duplicates:
        thing = LayerEntry(
            artifact.id, artifact.kind, "duplicate", "dropped", artifact.revision or None, artifact.failed
        )
        sheet.record(thing)
    return Payload(sheet, providers, context, images, is_labelled)


def _add_provided(sheet: LayerBuilder, provided: Provided, texts: Texts) -> None:
    if provided.failed is not None:
        thing = LayerEntry(provided.id, provided.kind, "pinned", "failed", detail=provided.failed)
        sheet.add(thing, b.provider_unavailable(provided), segment="provider")
        return
    sha256 = provided.text_sha256
    text = texts(sha256) if sha256 is not None else ""
    block = b.provider_block(provided, text) if b.trimmed(text) else ""
    sheet.add(LayerEntry(provided.id, provided.kind, "pinned", revision=sha256), block, segment="provider")


def _add_tool_results(sheet: LayerBuilder, items: Iterable[Item], drawn: RenderedBlock) -> None:
    results = [item for item in items if item.artifact.kind == "tool_result" and item.artifact.failed is None]
    if results:
        sheet.add(LayerEntry("tools", "frame", "frame"), b.TOOLS_HEADING)
    for item in results:
        if item.artifact.form == "search":
            _add_search(sheet, item, drawn)
        else:
            block, seed = drawn.shelf.block(item.artifact)
            sheet.add(_thing(item), block, seed=seed)


def _add_search(sheet: LayerBuilder, item: Item, drawn: RenderedBlock) -> None:
    search = read_search(drawn.texts(item.artifact.revision))
    is_cut = any(len(document.text) > DOCUMENT_CHARS_MAX for document in search.documents)
    thing = replace(_thing(item), state="shortened", detail=_CUT) if is_cut else _thing(item)
    sheet.add(thing, search_block(*b.block_head(item.artifact), search, drawn.numbers))


def _add_references(sheet: LayerBuilder, items: Iterable[Item]) -> None:
    """One segment; the line of what is changed is counted with its block."""
    listed = [item for item in items if item.how != "new"]
    if not listed:
        return
    lines = [_line(item) for item in listed]
    tokens = sheet.record(LayerEntry("references", "frame", "frame"), seed_tokens(b.references(())))
    for item, line in zip(listed, lines, strict=True):
        if item.how == "reference":
            tokens += sheet.record(_thing(item, "reference"), seed_tokens(line), len(line.encode()))
    sheet.segments.append(Segment("references", "reference", b.references(lines), tokens))


def _add_blocks(sheet: LayerBuilder, items: Iterable[Item], drawn: RenderedBlock) -> None:
    shown = [item for item in items if _is_block(item)]
    for item in sorted(shown, key=lambda item: item.active):
        if item.artifact.before or item.artifact.after:
            _add_selection(sheet, item, drawn)
            continue
        block, seed = drawn.shelf.block(_as_shown(item), replaces=item.how == "changed")
        if item.how == "changed":
            seed += seed_tokens(_line(item))
        sheet.add(_thing(item), block, seed=seed)


def _add_selection(sheet: LayerBuilder, item: Item, drawn: RenderedBlock) -> None:
    """In what stands around it, as far as that is wanted; a cursor is nothing without."""
    artifact = item.artifact
    if not drawn.surroundings and not is_cursor(artifact):
        block, seed = drawn.shelf.block(artifact)
        sheet.add(replace(_thing(item), detail=LEFT_OUT), block, seed=seed)
        return
    shown = around(artifact, drawn.texts)
    thing = replace(_thing(item), state="shortened", detail=SHORTENED) if shown.is_shortened else _thing(item)
    sheet.add(thing, marked_block(artifact, drawn.texts(artifact.revision), shown))


def _is_block(item: Item) -> bool:
    return item.how != "reference" and item.artifact.failed is None and item.artifact.kind not in _ELSEWHERE


def _add_failed(sheet: LayerBuilder, items: Iterable[Item]) -> None:
    for item in items:
        if item.artifact.failed is not None:
            sheet.add(_thing(item, "failed"), b.unavailable(item.artifact))


def _images(sheet: LayerBuilder, items: Iterable[Item]) -> Iterator[Block]:
    """The images' own blocks; the layer's text names their bytes, so that its hash is theirs too."""
    for item in items:
        artifact = item.artifact
        if artifact.kind == "image" and artifact.failed is None:
            sheet.add(_thing(item), b.image_line(artifact), seed=IMAGE_TOKENS)
            yield Block("image", blob=artifact.revision, media_type=artifact.media_type)


def _as_shown(item: Item) -> Artifact:
    """The active note as such, though it was attached as a note too."""
    return replace(item.artifact, kind="active_note") if item.active else item.artifact


def _line(item: Item) -> str:
    return b.reference_line(item.artifact.id, active=item.active, changed=item.how == "changed")


def _thing(item: Item, state: State = "full") -> LayerEntry:
    artifact = item.artifact
    why = "changed" if item.how == "changed" else "active" if item.active else "attached"
    return LayerEntry(artifact.id, artifact.kind, why, state, artifact.revision or None, artifact.failed)
