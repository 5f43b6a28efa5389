"""Completion of `[[`: notes for a part of a name, headings behind `#`, blocks behind `^`."""

import re
from typing import Any, Final

import msgspec
from lsprotocol import types

from workspaced_tools.editing.names import name_before_part, part_completions
from workspaced_tools.editing.positions import Position

from ..limits import LSP_NAMES_MAX
from .links import position
from .session import Session, Sight

_BEGUN: Final = re.compile(r"\[\[(?P<written>[^\[\]|]*)\Z")
_WRITTEN_CHARS_MAX: Final = 200
TRIGGERS: Final = ("[", "#", "^", "/")
_KINDS: Final = {
    "file": types.CompletionItemKind.File,
    "title": types.CompletionItemKind.File,
    "alias": types.CompletionItemKind.Reference,
    "heading": types.CompletionItemKind.Module,
    "block": types.CompletionItemKind.Constant,
}


async def completion(session: Session, uri: str, at: types.Position) -> types.CompletionList | None:
    """What the link that is being written may lead to. None: none is being written there."""
    document = session.documents.get(uri)
    if document is None or document.text is None or not document.is_markdown:
        return None
    where = position(at)
    line = document.positions.line(where.line).encode()
    start = document.positions.offset(Position(where.line, 0))
    cut = document.positions.offset(where) - start
    before = line[:cut].decode(errors="ignore")
    begun = _BEGUN.search(before)
    if begun is None or len(begun["written"]) > _WRITTEN_CHARS_MAX:
        return None
    sight = await session.sight(uri)
    if sight is None:
        return None
    found = await _names(session, sight, begun["written"])
    first = document.positions.at(start + len(before[: begun.start("written")].encode()))
    replaced = types.Range(types.Position(first.line, first.character), at)
    end = "" if line[cut:].startswith(b"]]") else "]]"
    items = [_item(each, number, begun["written"], replaced, end) for number, each in enumerate(found)]
    return types.CompletionList(is_incomplete=True, items=items)


async def _names(session: Session, sight: Sight, written: str) -> list[dict[str, Any]]:
    if name_before_part(written) == "":
        # Of this note the text in the editor counts.
        own = part_completions(sight.document.note(sight.place.note), written, LSP_NAMES_MAX)
        return [msgspec.to_builtins(each) for each in own.names]
    params = {"prefix": written, "note": sight.place.note, "limit": LSP_NAMES_MAX}
    answer = await session.ask(sight.place, "workspaced/names", params)
    names: list[dict[str, Any]] = answer["names"] if answer is not None else []
    return names


def _item(
    found: dict[str, Any], number: int, written: str, replaced: types.Range, end: str
) -> types.CompletionItem:
    """One offer. Its order is ours, and editors that filter compare it with what is written."""
    return types.CompletionItem(
        found["name"],
        kind=_KINDS[found["kind"]],
        detail=found["note"]["path"],
        sort_text=f"{number:04}",
        filter_text=f"{written} {found['link']}" if written else found["link"],
        text_edit=types.TextEdit(replaced, found["link"] + end),
    )
