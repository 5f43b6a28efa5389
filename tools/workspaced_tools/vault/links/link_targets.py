"""Resolves the targets of links in notes: a click in Obsidian, as far as we know its rule.

The rule knows file names, without regard to case; of a note without its `.md`, of any other file whole:

1. the note at exactly this path in the vault, so that a note in the root wins for its bare name;
2. of the notes with this name, or whose path ends with it: those below the source's folder, the shortest path
   first, then the others, the shortest path first; equal lengths stand in alphabetical order.

`./` and `../` lead from the source's folder, `/` from the vault's root, to exactly that path. Wikilinks and
Markdown links follow the same rule. Where no file has the name, the resolver's general order decides, unless the
target ends in `.md`: such a target names a file. `tests/data/obsidian` holds a table of the rule.
"""

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from workspaced_events.ids import NoteId, is_markdown
from workspaced_events.projections.workspace_state import VaultState

from ...errors import NoteNotFound
from ...notes.markdown import parse_markdown
from ...notes.name_keys import without_ending
from ...ports.vault import IncomingLink, IncomingLinks, LinkTarget, NoteRef, Resolution
from ..index.entries import NamedNote, target_keys
from ..index.index import Index
from .resolver import (
    IndexLookup,
    Lookup,
    Reading,
    at_former_path,
    first_at,
    leads_out,
    named_readings,
    note_paths,
    reading_cut_at,
    resolve_reading,
    shown,
    unwrapped,
    without_hit,
)

_NOWHERE: Final = Resolution()
_EXACT_ONLY: Final = ("./", "../", "/")
"""What a target begins with that means exactly one path."""


class LinkResolver:
    """Resolves links against one state of vault and workspace.

    Results that do not depend on the link's folder are computed once: thousands of folders may link to one name,
    and hundreds of notes may have it.
    """

    def __init__(self, lookup: Lookup, state: VaultState) -> None:
        self._lookup = lookup
        self._state = state
        self._exact: dict[str, Resolution | None] = {}
        self._ranked: dict[str, _Ranked | None] = {}
        self._named: dict[str, Resolution] = {}
        self._known: dict[tuple[str, str], LinkTarget] = {}

    def target(self, source: NoteId, link: str) -> LinkTarget:
        """The target of a link in `source`."""
        # The meaning of a name may depend on the source's folder, and on nothing else of the source.
        at = source.rpartition("/")[0], link
        known = self._known.get(at)
        if known is None:
            found = self.resolve(source, link)
            known = self._known[at] = LinkTarget(found.note, ambiguous=bool(found.candidates))
        return known

    def resolve(self, source: NoteId, target: str) -> Resolution:
        """As `target`, with the stage that decided and the candidates of an ambiguous name."""
        target = _plain(target)
        found = self.by_file(source, target)
        if found is None and _is_inside(target) and not target.startswith(_EXACT_ONLY):
            found = self._named.get(target)
            if found is None:
                if target[-3:].lower() == ".md":
                    moved = at_former_path(target, self._lookup, self._state)
                    found = Resolution(moved, "formerPath") if moved is not None else _NOWHERE
                else:
                    found = resolve_reading(Reading(target), self._lookup, self._state) or _NOWHERE
                self._named[target] = found
        return found or _NOWHERE

    def by_file(self, source: NoteId, target: str) -> Resolution | None:
        """The file that a link in `source` to `target` means, by the rule above; None if no file has the name."""
        folder, target = source.rpartition("/")[0], _plain(target)
        if target.startswith(_EXACT_ONLY):
            path = target.lstrip("/") if target[0] == "/" else posixpath.normpath(posixpath.join(folder, target))
            return self._at(path) if _is_inside(path) else None
        if not _is_inside(target):
            return None
        if (exact := self._at(target)) is not None:
            return exact
        if target not in self._ranked:
            ends = f"/{_lower(without_ending(target))}.md", f"/{_lower(target)}"
            hits = [entry for entry in self._alike(target) if f"/{_lower(entry.id)}".endswith(ends)]
            self._ranked[target] = _Ranked(hits, target) if hits else None
        ranked = self._ranked[target]
        return Resolution(ranked.first_for(folder), _stage(target)) if ranked is not None else None

    def _at(self, path: str) -> Resolution | None:
        """The note at this path, with or without `.md`: in this case, else in any."""
        if path not in self._exact:
            if self._lookup.paths_by_name and path[-3:].lower() != ".md":
                named = {entry.id: entry.ref for entry in self._alike(path)}
                found = named.get(NoteId(f"{path}.md")) or named.get(NoteId(path))
            else:
                found = first_at(note_paths(path), self._lookup)
            stage = "path"
            if found is None:
                whole, stage = {f"{_lower(without_ending(path))}.md", _lower(path)}, _stage(path)
                hits = [entry.ref for entry in self._alike(path) if _lower(entry.id) in whole]
                found = min(hits, key=lambda ref: (not is_markdown(ref.id), ref.id), default=None)
            self._exact[path] = Resolution(found, stage) if found is not None else None
        return self._exact[path]

    def _alike(self, name: str) -> Sequence[NamedNote]:
        return self._lookup.named(target_keys(name)[-1])


class _Ranked:
    """The notes that a name may mean, ranked for every folder that a link may stand in."""

    def __init__(self, notes: Sequence[NamedNote], name: str) -> None:
        """`notes` are not empty."""
        self._first: Final[dict[str, tuple[tuple[bool, int, str, bool, str], NoteRef]]] = {}
        """For each folder above a note, the first of the notes below that folder, with its rank."""
        suffix = without_ending(name)
        for note in notes:
            is_cased = without_ending(note.id).endswith(suffix)
            rank = (not is_markdown(note.id), len(note.id), _lower(note.id), not is_cased, note.id)
            folders = [note.id.rpartition("/")[0]]
            while folders[-1]:
                folders.append(folders[-1].rpartition("/")[0])
            for above in folders:
                best = self._first.get(above)
                if best is None or rank < best[0]:
                    self._first[above] = rank, note.ref

    def first_for(self, folder: str) -> NoteRef:
        """The note that a link in `folder` means."""
        return (self._first.get(folder) or self._first[""])[1]


def _plain(target: str) -> str:
    return unicodedata.normalize("NFC", target.strip())


def _stage(target: str) -> str:
    return "pathSuffix" if "/" in target else "filename"


def _is_inside(path: str) -> bool:
    """Whether `path` can be that of a note in the vault."""
    return bool(path) and "\0" not in path and ".." not in path.split("/")


def _lower(path: str) -> str:
    """`path` for comparison without case. No case folding: `Straße` and `Strasse` are two files."""
    return unicodedata.normalize("NFC", path.lower())


def incoming(note: NamedNote, limit: int, state: VaultState, index: Index, lookup: IndexLookup) -> IncomingLinks:
    """The first `limit` links to `note` by source and place, and the number of all."""
    keys = note.name_keys()
    for former, now in state.former.items():
        if now == note.id:
            keys.update(target_keys(former))
    links_of = LinkResolver(lookup, state)
    links: list[IncomingLink] = []
    total = 0
    for row in index.linking(keys):
        if row.source == note.id or lookup.is_withheld(row.source):
            continue
        target = links_of.target(row.source, row.target).note
        if target is not None and target.id == note.id:
            total += 1
            if len(links) < limit:
                source = NoteRef(row.source, row.title, row.source)
                links.append(IncomingLink(source, row.context, row.line, row.heading))
    return IncomingLinks(tuple(links), total, complete=not index.in_part())


_WITHIN: Final = re.compile(r"\[[^\]]*\]\((#[^()\s]*)\)")
"""A Markdown link to a heading or block of its own note."""


def resolve_from(reference: str, source: str, lookup: Lookup, state: VaultState) -> Resolution:
    """Resolves `reference` as a link that stands in the note `source`: what a click on it opens.

    The reference is a link as it is written (`[[Note#Heading]]`, `[text](note.md)`, or `[[#Heading]]` for the note
    itself), or the target alone. `complete`: as for `resolve`.

    Args:
        source: the note's path, with or without `.md`; a former path counts.

    Raises:
        ReferenceOutsideVault, SymlinkNotFollowed, ArgumentInvalid: as `resolve`, of either; `..` may lead up
            within the vault.
        NoteNotFound: there is no note `source`.
    """
    path = unwrapped(source, "from")
    if path.startswith("/") or ".." in path.split("/"):
        raise leads_out(source, "from")
    origin = first_at(note_paths(path), lookup) or at_former_path(path, lookup, state)
    if origin is None:
        raise NoteNotFound(
            f"There is no note {shown(source)} for links to stand in",
            hint="Give `from` as the path of the note that holds the link, or leave it out.",
        )
    ways = _ways(reference)
    if not ways[-1].name:
        return Resolution(origin, "path", heading=ways[-1].heading, block=ways[-1].block)
    parts = ways[-1].name.split("/")
    up = next((at for at, part in enumerate(parts) if part not in (".", "..")), len(parts))
    if ".." in parts[up:] or parts[:up].count("..") > origin.id.count("/"):
        raise leads_out(reference)
    links = LinkResolver(lookup, state)
    for way in ways:
        plain = way is ways[-1]
        found = (links.resolve if plain else links.by_file)(origin.id, way.name)
        if found is not None and (found.note is not None or found.candidates):
            exact = way is ways[0] and found.resolved_by == "path"
            return replace(found, heading=way.heading, block=way.block, complete=exact)
    # No link leads anywhere by these names; a title with separators in it still may.
    for way in ways[:-1]:
        found = resolve_reading(way, lookup, state)
        if found is not None:
            return replace(found, complete=False)
    return without_hit(ways, lookup)


def _ways(reference: str) -> list[Reading]:
    """The ways to read `reference`, as `readings`; a link that is written out has one. The name is empty for the
    source itself.

    Raises: as `resolve`.
    """
    text = unwrapped(reference)
    written = reference.strip()
    links = parse_markdown(written).links
    if len(links) == 1 and links[0].raw == written:
        return [Reading(links[0].target, links[0].heading, links[0].block)]
    within = _WITHIN.fullmatch(written)
    if within is not None:
        text = unquote(within[1])
    if text[:1] in ("#", "^"):
        return [reading_cut_at(text, 0)]
    return named_readings(text, reference)
