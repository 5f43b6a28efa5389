"""Renames a note with its links, as an edit that the editor applies: nothing here writes a file.

A link keeps its form: a bare name stays bare where that still leads to the note, a path stays a path, a relative
path stays relative, and heading, block and alias stay as they are written.
"""

import asyncio
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from workspaced_events.ids import is_markdown
from workspaced_tools.notes.name_keys import stem, without_ending

from ..limits import LSP_EDIT_S, LSP_WAITING_MAX
from .daemons import Daemon, Place
from .documents import notes_below, path_of, real_path, uri_of
from .links import FoundLink, given_range, link_at, links_to, lsp_range, meant_note, place_uri, wire
from .session import Session

_NAMED_MAX: Final = 5
"""So many notes are named in a message."""
_REQUEST_FAILED: Final = -32803
"""The protocol's code for a request that was right and could not be answered."""
_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>#^|\[\]]")
_DESTINATION: Final = re.compile(r"\]\((?:<(?P<open>[^<>#?\n]*)|(?P<plain>[^\s()<>#?]*))")
_SAFE: Final = "/~!$&'*+,;=@"


class Renaming(NamedTuple):
    """An edit, and what it leaves to the user, as a sentence; empty if nothing is left."""

    edit: types.WorkspaceEdit
    left: str


async def prepare_rename(session: Session, uri: str, at: types.Position) -> types.PrepareRenamePlaceholder | None:
    """What is renamed at this place: the note that a link leads to, elsewhere this note. None: neither."""
    sight = await session.sight(uri)
    note = await meant_note(session, sight, at) if sight is not None else None
    if sight is None or note is None or not is_markdown(note):
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
    if sight is None or note is None or not is_markdown(note):
        return None
    path = new_path(note, name)
    if path is None:
        raise JsonRpcInvalidParams(message=f"No note can be called {name!r}. Leave out #, ^, |, [ and ].")
    if path == note:
        return Renaming(types.WorkspaceEdit(), "")
    file = Path(sight.place.root) / path
    if path.lower() != note.lower() and await asyncio.to_thread(file.exists):
        raise JsonRpcInvalidParams(message=f"There is a file {path} already. Choose another name.")
    links, left = await _edits(session, sight.place, {note: path})
    changes: list[types.TextDocumentEdit | types.RenameFile] = list(links)
    if moves_files:
        changes.append(types.RenameFile(place_uri(session, sight.place, note), uri_of(str(file))))
    else:
        left = f"{left} Rename the file {note} to {path} yourself: this editor lets no server do it.".strip()
        return Renaming(types.WorkspaceEdit(changes=_plain(links)), left)
    return Renaming(types.WorkspaceEdit(document_changes=changes), left)


async def will_rename(session: Session, files: Sequence[types.FileRename]) -> Renaming | None:
    """The edit of links for files and folders that the editor is about to rename, all at once."""
    moved: dict[tuple[Daemon, str], tuple[Place, dict[str, str]]] = {}
    await session.locate()
    for file in files[:LSP_WAITING_MAX]:
        old, new = path_of(file.old_uri), path_of(file.new_uri)
        if old is None or new is None:
            continue
        real, real_new, below = await asyncio.to_thread(_located, old, new)
        if real is None or not below:
            continue
        place = await session.daemons.sought(f"{real}{below[0]}", LSP_EDIT_S)
        if place is None:
            continue
        names = moved.setdefault((place.daemon, place.vault), (place, {}))[1]
        for path in below:
            note, target = (place.note_at(f"{each}{path}") for each in (real, real_new))
            if note is not None and target is not None and note != target and len(names) < LSP_WAITING_MAX:
                names[note] = target
    found = [await _edits(session, place, names) for place, names in moved.values() if names]
    every = [edit for edits, _ in found for edit in edits]
    said = " ".join(left for _, left in found if left)
    return Renaming(types.WorkspaceEdit(changes=_plain(every)), said) if every or said else None


def _located(old: str, new: str) -> tuple[str | None, str, list[str]]:
    """Where a file or folder really lies and will lie, and the notes below it. Touches the disk."""
    real = real_path(old)
    return real, real_path(new) or new, notes_below(real) if real is not None else []


async def _edits(
    session: Session, place: Place, moved: Mapping[str, str]
) -> tuple[list[types.TextDocumentEdit], str]:
    """The edits of all links to notes that are `moved`, and of their own relative links where these lead elsewhere
    then; and what is left to the user.

    Raises:
        JsonRpcException: the daemon does not say what links to a note.
    """
    links: dict[tuple[str, int, int], tuple[FoundLink, str]] = {}
    left, hidden = 0, []
    for note in moved:
        at = place._replace(note=note)
        if not await session.tells_of(at):
            hidden.append(note)
            continue
        found, own = await links_to(session, at, note, LSP_EDIT_S), await _own_links(session, at)
        if found is None or own is None:
            raise JsonRpcException("The daemon does not say what links to the note. Try again.", _REQUEST_FAILED)
        left += found[1]
        for each, target in [*((each, note) for each in found[0]), *own]:
            # A link between two notes that are moved is found twice.
            links[each.uri, each.range.start.line, each.range.start.character] = each, target
    free = await _free_names(session, place, moved)
    edits: dict[str, list[types.TextEdit]] = {}
    for each, target in links.values():
        source, path = moved.get(each.note, each.note), moved.get(target, target)
        changes_folder = posixpath.dirname(each.note) != posixpath.dirname(source)
        if target not in moved and not (changes_folder and _is_relative(each)):
            continue
        wiki, bare = each.link["wiki"], target in free
        text = rewritten(each.raw, each.link["target"], source, path, wiki=wiki, bare=bare)
        left += text is None
        if text is not None and text != each.raw:
            edits.setdefault(each.uri, []).append(types.TextEdit(each.range, text))
    return [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri), list(texts))
        for uri, texts in edits.items()
    ], _left(left, list(moved), hidden)


def _left(count: int, moved: Sequence[str], hidden: Sequence[str]) -> str:
    """What an edit leaves to the user, as sentences; empty if nothing is left."""
    said = []
    if count:
        what = moved[0] if len(moved) == 1 else f"{len(moved)} notes"
        links = "1 link" if count == 1 else f"{count} links"
        said.append(f"You must change {links} to {what} by hand: look in the text.")
    if hidden:
        names = ", ".join(hidden[:_NAMED_MAX]) + (" and others" if len(hidden) > _NAMED_MAX else "")
        said.append(f"{names}: withheld from agents, or not saved. Look after the links to and in it yourself.")
    return " ".join(said)


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


async def _free_names(session: Session, place: Place, moved: Mapping[str, str]) -> set[str]:
    """Of the notes that are moved those whose new name no other note has, so that a bare link may have it."""
    names = [{"target": stem(path)} for path in moved.values()]
    found = await session.targets(place, names, LSP_EDIT_S) or []
    return {
        note
        for note, target in zip(moved, found, strict=False)
        if not target["ambiguous"] and (target["note"] is None or target["note"]["id"] == note)
    }


def _plain(edits: Sequence[types.TextDocumentEdit]) -> dict[str, Sequence[types.TextEdit]]:
    """The edits in the older form, which every editor takes."""
    return {
        each.text_document.uri: [edit for edit in each.edits if isinstance(edit, types.TextEdit)] for each in edits
    }


def new_path(old: str, name: str) -> str | None:
    """The path of the note `old` under a new name: in its folder, or with a slash from the vault's root. None if
    no note may be called so, or no link can hold the name."""
    name = without_ending(name.strip().strip("/"))
    parts = name.split("/")
    if not name or _NOT_IN_NAMES.search(name) or any(part.strip() in ("", ".", "..") for part in parts):
        return None
    if any(part.startswith(".") for part in parts):
        return None
    folder = "" if "/" in name else old.rpartition("/")[0]
    return f"{folder}/{name}.md" if folder else f"{name}.md"


def rewritten(raw: str, target: str, source: str, note: str, *, wiki: bool, bare: bool) -> str | None:
    """The link `raw` of the note `source`, leading to the path `note`; None: it is written elsewhere, as a
    definition by which several links may lead, and is left to the user.

    Args:
        target: the name or path that the link has now, percent-decoded.
        bare: whether the bare name of the note leads to it from there.
    """
    if wiki:
        return _wikilink(raw, target, source, note, bare=bare)
    every = list(_DESTINATION.finditer(raw))
    if not every or every[-1][0].endswith(("(", "<")):
        return None
    found = every[-1]  # an image within the link's text has one too
    group = "plain" if found["open"] is None else "open"
    path = f"/{note}" if target.startswith("/") else _relative(source, note)
    if target[-3:].lower() != ".md":
        path = without_ending(path)
    written = quote(path, safe=_SAFE) if group == "plain" else path
    return raw[: found.start(group)] + written + raw[found.end(group) :]


def _wikilink(raw: str, target: str, source: str, note: str, *, bare: bool) -> str | None:
    begun = raw.find("[[") + 2
    at = raw.find(target, begun)
    if begun < 2 or at < 0:
        return None
    if target.startswith(("./", "../")):
        name = _relative(source, note)
    elif "/" in target or not bare:
        name = note
    else:
        name = note.rpartition("/")[2]
    if target[-3:].lower() != ".md":
        name = without_ending(name)
    if target.startswith("/"):
        name = f"/{name}"
    return raw[:at] + name + raw[at + len(target) :]


def _relative(source: str, note: str) -> str:
    return posixpath.relpath(note, source.rpartition("/")[0] or ".")
