"""Renames a note with its links, as an edit that the editor applies: nothing here writes a file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from workspaced_tools.notes.name_keys import stem

from ..limits import LSP_EDIT_S, LSP_WAITING_MAX
from .daemons import Place
from .links import FoundLink, given_range, link_at, links_to, lsp_range, meant_note, place_uri, wire
from .rewriting import new_path, rewritten
from .session import Session
from .uris import note_of, path_of, real_path, uri_of

_REQUEST_FAILED: Final = -32803
"""The protocol's code for a request that was right and could not be answered."""


class Renaming(NamedTuple):
    """An edit, and what it leaves to the user, as a sentence; empty if nothing is left."""

    edit: types.WorkspaceEdit
    left: str


async def prepare_rename(session: Session, uri: str, at: types.Position) -> types.PrepareRenamePlaceholder | None:
    """What is renamed at this place: the note that a link leads to, elsewhere this note. None: neither."""
    sight = await session.sight(uri)
    note = await meant_note(session, sight, at) if sight is not None else None
    if sight is None or note is None:
        return None
    link = link_at(sight, at)
    where = lsp_range(link.range) if link is not None else types.Range(at, at)
    return types.PrepareRenamePlaceholder(where, stem(note))


async def rename(
    session: Session, uri: str, at: types.Position, name: str, *, moves_files: bool
) -> Renaming | None:
    """The edit that renames what `prepare_rename` says.

    Args:
        moves_files: whether the editor renames files as a part of an edit; else only links are edited.

    Raises:
        JsonRpcInvalidParams: no note may be called so, or another one is.
        JsonRpcException: the daemon does not say what links to the note.
    """
    sight = await session.sight(uri)
    note = await meant_note(session, sight, at) if sight is not None else None
    if sight is None or note is None:
        return None
    path = new_path(note, name)
    if path is None:
        raise JsonRpcInvalidParams(message=f"No note can be called {name!r}. Leave out #, ^, |, [ and ].")
    if path == note:
        return Renaming(types.WorkspaceEdit(), "")
    file = Path(sight.place.root) / path
    if path.lower() != note.lower() and await asyncio.to_thread(file.exists):
        raise JsonRpcInvalidParams(message=f"There is a file {path} already. Choose another name.")
    links, left = await _edits(session, sight.place, note, path)
    changes: list[types.TextDocumentEdit | types.RenameFile] = list(links)
    if moves_files:
        changes.append(types.RenameFile(place_uri(session, sight.place, note), uri_of(str(file))))
    else:
        left = f"{left} Rename the file {note} to {path} yourself: this editor lets no server do it.".strip()
        return Renaming(types.WorkspaceEdit(changes=_plain(links)), left)
    return Renaming(types.WorkspaceEdit(document_changes=changes), left)


async def will_rename(session: Session, files: Sequence[types.FileRename]) -> Renaming | None:
    """The edit of links for files that the editor is about to rename."""
    every: list[types.TextDocumentEdit] = []
    said = []
    for file in files[:LSP_WAITING_MAX]:
        old, new = path_of(file.old_uri), path_of(file.new_uri)
        real = real_path(old) if old is not None else None
        place = await session.daemons.placed(real, LSP_EDIT_S) if real is not None else None
        if place is None or new is None:
            continue
        note = note_of(real_path(new) or new, place.root)
        if note is not None and note != place.note:
            edits, left = await _edits(session, place, place.note, note)
            every += edits
            said.append(left)
    return Renaming(types.WorkspaceEdit(changes=_plain(every)), " ".join(filter(None, said))) if every else None


async def _edits(session: Session, place: Place, note: str, path: str) -> tuple[list[types.TextDocumentEdit], str]:
    """The edits of all links to `note`, and of its own relative links where it changes its folder.

    Raises:
        JsonRpcException: the daemon does not say what links to the note.
    """
    answer = await links_to(session, place, note, LSP_EDIT_S)
    own = await _own_links(session, place._replace(note=note))
    if answer is None or own is None:
        raise JsonRpcException("The daemon does not say what links to the note. Try again.", _REQUEST_FAILED)
    found, left = answer
    bare = await _is_free(session, place, note, stem(path))
    moves = note.rpartition("/")[0] != path.rpartition("/")[0]
    wanted = [(each, path) for each in found]
    wanted += [(each, path) for each, target in own if target == note]
    wanted += [(each, target) for each, target in own if moves and target != note and _is_relative(each)]
    edits: dict[str, list[types.TextEdit]] = {}
    for each, target in wanted:
        source = path if each.note == note else each.note
        text = rewritten(each.raw, each.link["target"], source, target, wiki=each.link["wiki"], bare=bare)
        left += text is None
        if text is not None and text != each.raw:
            edits.setdefault(each.uri, []).append(types.TextEdit(each.range, text))
    said = f"{left} links to {note} are left as they are; look for them in the text." if left else ""
    return [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri), list(texts))
        for uri, texts in edits.items()
    ], said


async def _own_links(session: Session, place: Place) -> list[tuple[FoundLink, str]] | None:
    """The links of the note that is to be renamed with the notes that they lead to: of the text in the editor, or
    of its file. None: the daemon does not say."""
    uri = place_uri(session, place, place.note)
    document = session.documents.get(uri)
    if document is not None and document.text is not None:
        links = document.links(place.note)
        targets = await session.targets(place, [wire(each.link) for each in links], LSP_EDIT_S)
        if targets is None:
            return None
        written = [(each.link.raw, lsp_range(each.range)) for each in links]
    else:
        params = {"note": place.note, "direction": "out", "encoding": session.documents.encoding}
        answer = await session.ask(place, "workspaced/links", params, LSP_EDIT_S)
        if answer is None:
            return None
        targets = answer["links"]
        written = [(each["raw"], given_range(each["range"])) for each in targets]
    return [
        (FoundLink(uri, place.note, raw, target["link"], where), target["note"]["id"])
        for target, (raw, where) in zip(targets, written, strict=True)
        if target["note"] is not None
    ]


def _is_relative(found: FoundLink) -> bool:
    """Whether the link leads elsewhere once its note has another folder."""
    target: str = found.link["target"]
    return target.startswith(("./", "../")) or (not found.link["wiki"] and not target.startswith("/"))


async def _is_free(session: Session, place: Place, note: str, name: str) -> bool:
    """Whether no other note has this name, so that a bare link may have it."""
    found = await session.targets(place, [{"target": name}], LSP_EDIT_S)
    if not found:
        return False
    target = found[0]["note"]
    return not found[0]["ambiguous"] and (target is None or target["id"] == note)


def _plain(edits: Sequence[types.TextDocumentEdit]) -> dict[str, Sequence[types.TextEdit]]:
    """The edits in the older form, which every editor takes."""
    return {
        each.text_document.uri: [edit for edit in each.edits if isinstance(edit, types.TextEdit)] for each in edits
    }
