"""The outline of a document, from the text in the editor alone."""

from collections.abc import Sequence

from lsprotocol import types

from workspaced_tools.editing.positions import Position
from workspaced_tools.notes.markdown import Heading

from .documents import Document
from .links import lsp_range


def outline(document: Document) -> list[types.DocumentSymbol]:
    """The headings, each with those below it; a heading reaches to the next one of its level or higher."""
    headings = [each for each in document.note("outline.md").markdown.headings if each.text]
    symbols, _ = _below(document, headings, 0, 0)
    return symbols


def flat(symbols: Sequence[types.DocumentSymbol], uri: str) -> list[types.SymbolInformation]:
    """The same for editors that know no tree."""
    found = []
    for each in symbols:
        found.append(types.SymbolInformation(types.Location(uri, each.range), each.name, each.kind))
        found += flat(each.children or (), uri)
    return found


def _below(
    document: Document, headings: Sequence[Heading], at: int, level: int
) -> tuple[list[types.DocumentSymbol], int]:
    """The headings from `at` on that are deeper than `level`, and where they end."""
    found = []
    while at < len(headings) and headings[at].level > level:
        heading = headings[at]
        children, at = _below(document, headings, at + 1, heading.level)
        found.append(_symbol(document, heading, headings[at].line if at < len(headings) else None, children))
    return found, at


def _symbol(
    document: Document, heading: Heading, end: int | None, children: list[types.DocumentSymbol]
) -> types.DocumentSymbol:
    """`end`: the 1-based line of the next heading that is not below this one; None: the document's end."""
    positions = document.positions
    start = positions.offset(Position(heading.line - 1, 0))
    line_end = start + len(positions.line(heading.line - 1).encode())
    last = positions.offset(Position(end - 1, 0)) if end is not None else positions.size
    return types.DocumentSymbol(
        name=heading.text,
        kind=types.SymbolKind.String,
        range=lsp_range(positions.range(start, last)),
        selection_range=lsp_range(positions.range(start, line_end)),
        children=children or None,
    )
