"""Resolves the targets of links in notes.

A wikilink follows Obsidian's rule first (a file's name or the end of its path; on ties the nearest file), then the
resolver's general order. A Markdown link (`[text](target)`) names files only, first relative to the source's
folder.
"""

import posixpath
import unicodedata
from collections.abc import Sequence
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ...ports.vault import LinkName, LinkTarget, NoteRef
from ..index.entries import target_keys
from .resolver import (
    Lookup,
    Reading,
    Wanted,
    ends_with,
    ends_with_folded,
    first_at,
    not_archived,
    note_paths,
    resolve_reading,
)


class LinkResolver:
    """Resolves links against one state of vault and workspace.

    Results that do not depend on the link's folder are computed once: thousands of folders may link to one name,
    and hundreds of notes may have it.
    """

    def __init__(self, lookup: Lookup, state: VaultState) -> None:
        self._lookup = lookup
        self._state = state
        self._nearest: dict[str, _Nearest | None] = {}
        self._named: dict[str, LinkTarget] = {}
        self._known: dict[tuple[str, LinkName], LinkTarget] = {}

    def target(self, source: NoteId, link: LinkName) -> LinkTarget:
        """The target of a link in `source`."""
        # The meaning of a name may depend on the source's folder, and on nothing else of the source.
        folder = source.rpartition("/")[0]
        known = self._known.get((folder, link))
        if known is None:
            known = self._known[folder, link] = self._target(folder, link)
        return known

    def _target(self, folder: str, link: LinkName) -> LinkTarget:
        target = unicodedata.normalize("NFC", link.target.strip())
        relative = target.startswith(("./", "../"))
        if relative or not link.wiki:
            path = posixpath.normpath(posixpath.join(folder, target))
            if (note := first_at(note_paths(path), self._lookup)) is not None or relative:
                return LinkTarget(note)
        name = target.lstrip("/")
        note = first_at(note_paths(name), self._lookup) if name != target else None
        note = note or self._by_file(folder, name)
        if note is not None or not link.wiki or not name or "\0" in name or ".." in name.split("/"):
            return LinkTarget(note)
        return self._by_name(name)

    def _by_file(self, folder: str, name: str) -> NoteRef | None:
        """Obsidian's rule: the file with this name, or whose path ends with it; the nearest of several."""
        if "/" in name and (note := first_at(note_paths(name), self._lookup)) is not None:
            return note
        if name not in self._nearest:
            wanted = Wanted.of(name)
            entries = self._lookup.named(target_keys(name)[-1])
            hits = [entry.ref for entry in entries if ends_with(entry, wanted)]
            hits = hits or [entry.ref for entry in entries if ends_with_folded(entry, wanted)]
            self._nearest[name] = _Nearest(not_archived(hits, self._state)) if hits else None
        nearest = self._nearest[name]
        return nearest.to(folder) if nearest is not None else None

    def _by_name(self, name: str) -> LinkTarget:
        known = self._named.get(name)
        if known is None:
            found = resolve_reading(Reading(name), self._lookup, self._state, exact_only=False)
            known = LinkTarget(None) if found is None else LinkTarget(found.note, ambiguous=found.note is None)
            self._named[name] = known
        return known


class _Nearest:
    """Finds the nearest of some notes to a folder.

    Nearest means the fewest folders up and down in between, then the shorter path, then the first by code points.
    """

    def __init__(self, notes: Sequence[NoteRef]) -> None:
        self._below: Final[dict[str, tuple[int, int, NoteId, NoteRef]]] = {}
        """For each folder above a note, the nearest of the notes below that folder, with its distance."""
        for note in notes:
            folder = note.id.rpartition("/")[0]
            for up, above in enumerate(_upwards(folder)):
                rank = (up, len(note.id), note.id, note)
                best = self._below.get(above)
                if best is None or rank[:3] < best[:3]:
                    self._below[above] = rank

    def to(self, folder: str) -> NoteRef:
        """The note nearest to `folder`."""
        # The path through a folder above the deepest common one is too long; the minimum is through that one.
        found = [
            (up + best[0], *best[1:])
            for up, above in enumerate(_upwards(folder))
            if (best := self._below.get(above)) is not None
        ]
        return min(found, key=lambda rank: rank[:3])[3]


def _upwards(folder: str) -> list[str]:
    """`folder` and the folders above it, up to the root, which is the empty string."""
    found = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found
