"""`LinkAnswers`: what references and links mean, which notes link to a note, and which names begin with a text.

Where a method takes `least`, it is the least level that its audience is shown. A note for explicit requests only
is found only where the question itself means it: no link leads to it, and it is no candidate of an ambiguous name
and no near name. So a name that means other notes still does.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..errors import NotDownloaded, ReadFailed, SymlinkNotFollowed, ToolError
from ..limits import ECHO_CHARS_MAX, SETTLE_EMPTY_S
from ..notes.name_keys import key, stem
from ..notes.note import Level, Note
from ..ports.asking import Audience, WouldBlock, check_may_wait, may_wait
from ..ports.vault import IncomingLinks, LinkTarget, NamesFound, NoteRef, Resolution
from .index.entries import NamedNote
from .links.link_targets import LinkResolver, incoming, resolve_from
from .links.name_completion import names_like
from .links.resolver import IndexLookup, Lookup, resolve
from .other_files import OtherFiles, file_at
from .shared_notes import UPDATE_ATTEMPTS, SharedNotes, asking_again

_VOLUNTEER: Final = Level.VOLUNTEER


class LinkAnswers:
    """One for each vault. Waits a limited time for the index where an answer depends on it."""

    def __init__(self, notes: SharedNotes, files: OtherFiles) -> None:
        self._notes: Final = notes
        self._files: Final = files

    def resolve(self, reference: str, state: VaultState, least: Level = _VOLUNTEER) -> Resolution:
        def look(lookup: Lookup) -> Resolution:
            return resolve(reference, lookup, state)

        shown = self._resolved(look, state)
        if least is _VOLUNTEER or shown.resolved_by == "path":
            return shown
        if _means_some(shown) and not self._notes.has_requested:
            return shown
        found = self._resolved(look, state, least)
        is_meant = found.note is not None and (found.resolved_by == "path" or not _means_some(shown))
        return found if is_meant else shown

    def resolve_from(
        self, reference: str, source: str, state: VaultState, least: Level = _VOLUNTEER
    ) -> Resolution:
        def look(lookup: Lookup) -> Resolution:
            return resolve_from(reference, source, lookup, state)

        if least is _VOLUNTEER:
            return self._resolved(look, state)
        shown = self._resolved(look, state, own=self._source(source, state, least))
        if _means_some(shown):
            return shown
        found = self._resolved(look, state, least)
        return found if found.note is not None else shown

    def _source(self, source: str, state: VaultState, least: Level) -> NamedNote | None:
        """The note that a reference stands in, if it is one for explicit requests only."""
        try:
            found = self._resolved(lambda lookup: resolve(source, lookup, state), state, least)
        except ToolError:
            return None
        if found.note is None or found.resolved_by not in ("path", "formerPath"):
            return None
        note = found.note.id
        withheld = self._notes.levels.is_withheld(note)
        return self._notes.asking(lambda: self._own(note, least)) if withheld else None

    @asking_again
    def _resolved(
        self,
        look: Callable[[Lookup], Resolution],
        state: VaultState,
        least: Level = _VOLUNTEER,
        own: NamedNote | None = None,
    ) -> Resolution:
        """The result of `look`, checked against the files. Waits for the index if the result depends on it.

        `own`: a note that is found whatever its level.
        """

        def lookup() -> Lookup:
            return _FileLookup(self._notes, self._files, state, least, own)

        ready = self._notes.indexer.ready.is_set()
        found = look(lookup())
        if not ready and not found.complete:
            # The note may be newer than the stored index.
            ready = self._notes.await_ready()
            found = look(lookup())
        for _ in range(UPDATE_ATTEMPTS):
            refs = [found.note] if found.note is not None else [*found.candidates, *found.near]
            others = [ref.id for ref in refs if own is None or ref.id != own.id]
            if found.resolved_by == "path" or self._notes.is_current(others, least):
                break
            found = look(lookup())
        return msgspec.structs.replace(found, complete=found.complete or ready)

    @asking_again
    def link_targets(
        self, source: NoteId, links: Sequence[str], state: VaultState, least: Level = _VOLUNTEER
    ) -> list[LinkTarget]:
        """`least`: of the source. Every other note is one that may be shown unasked."""
        self._notes.await_names()
        own = self._own(source, least)
        for _ in range(UPDATE_ATTEMPTS):
            resolver = LinkResolver(self._files.lookup(own), state)
            targets = [resolver.target(source, link) for link in links]
            others = {target.note.id for target in targets if target.note is not None} - {source}
            if self._notes.is_current(others):
                break
        return targets

    @asking_again
    def incoming(self, note: NoteId, limit: int, state: VaultState, least: Level = _VOLUNTEER) -> IncomingLinks:
        """`least`: of the note. Every other note is one that may be shown unasked."""
        self._notes.await_names()
        is_note = self._notes.root.selected.holds(note)
        entry: NamedNote | None = self._notes.entry(note, least) if is_note else file_at(note)
        if entry is None:
            return IncomingLinks((), 0)
        own = entry if least is not _VOLUNTEER else None
        for _ in range(UPDATE_ATTEMPTS):
            found = incoming(entry, limit, state, self._notes.index, self._files.lookup(own))
            if self._notes.is_current({link.source.id for link in found.links}):
                break
        return found

    @asking_again
    def names_like(self, prefix: str, limit: int, state: VaultState) -> NamesFound:
        self._notes.await_names()
        for _ in range(UPDATE_ATTEMPTS):
            complete = self._notes.indexer.text_ready.is_set()
            found = names_like(prefix, limit, state, self._notes.index, self._notes.levels.is_withheld)
            if self._notes.is_current([hit.note.id for hit in found]):
                break
        return NamesFound(tuple(found), complete)

    def _own(self, note: NoteId, least: Level) -> NamedNote | None:
        """The names of a note that is for explicit requests only; None: of any other."""
        return self._notes.entry(note, least) if least is not _VOLUNTEER else None


def _means_some(found: Resolution) -> bool:
    return found.note is not None or bool(found.candidates)


class _FileLookup:
    """The resolver's look-up: on disk for exact paths, which never wait, and in the index for everything else."""

    paths_by_name: Final = False

    def __init__(
        self, notes: SharedNotes, files: OtherFiles, state: VaultState, least: Level, own: NamedNote | None
    ) -> None:
        """
        Args:
            state: of files that are no notes, those that it shows are found, and those that a link leads to.
            own: a note that is found whatever its level.
        """
        self._notes = notes
        self._files = files
        self._state = state
        self._least = least
        self._own = own
        self._index = files.lookup(own, least)
        self._requested = IndexLookup(notes.requested, lambda note: notes.levels.is_withheld(note, least))

    def at_path(self, path: NoteId) -> NoteRef | None:
        root = self._notes.root
        if not root.selected.holds(path):
            # Whether it is withheld comes first: then it takes as long as a file that does not exist.
            is_shown = not self._files.withholds(path, self._least)
            is_found = is_shown and root.has_other(path) and self._files.opens(path, self._state, self._least)
            return file_at(path).ref if is_found else None
        if not path.isascii() and not unicodedata.is_normalized("NFC", path):
            # A path that is not NFC names a note only if another note has the NFC form; the disk finds it always.
            return self._index.at_path(path)
        if self._own is not None and path == self._own.id:
            return self._own.ref
        if not may_wait() and not self._notes.is_cached(path):
            # A path without a file and a withheld one are answered alike; any other file must be read.
            levels, least = self._notes.levels, self._least
            is_there = not levels.is_withheld(path, least) and root.is_taken(path)
            if is_there or levels.settles_in_s(path, least) is not None:
                raise WouldBlock
            return None
        [found] = self._notes.read_settled([path], Audience(self._least), SETTLE_EMPTY_S)
        if isinstance(found, Note):
            return NoteRef(path, found.title, path)
        if found.code == SymlinkNotFollowed.code:
            if "/" not in path and self.named(key(stem(path))):
                return None  # a note elsewhere has the name, as links find it
            raise SymlinkNotFollowed(found.message, hint=self._hint_of_link(path))
        # The reference means a file that exists but cannot be read. Reading it later reports the reason.
        is_there = found.code in (ReadFailed.code, NotDownloaded.code) and not root.is_folder(path)
        return NoteRef(path, stem(path), path) if is_there else None

    def _hint_of_link(self, path: NoteId) -> str:
        """Names where a symlink leads only if that is a note that may be shown."""
        target = self._notes.root.link_target(path)
        shown = self._notes.read([NoteId(target)], Audience(self._least)) if target is not None else []
        if target is None or not isinstance(shown[0], Note):
            return "Name a note by the path of its own file."
        return f"It leads to {target[:ECHO_CHARS_MAX]!r}: ask for that."

    def named(self, name_key: str) -> Sequence[NamedNote]:
        self._notes.await_names()
        is_note, opens = self._notes.root.selected.holds, self._files.opens
        found = [
            each
            for each in self._index.named(name_key)
            if is_note(each.id) or opens(each.id, self._state, self._least)
        ]
        return found if self._least is _VOLUNTEER else [*found, *self._requested.named(name_key)]

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        check_may_wait()  # The search compares thousands of titles.
        return self._index.near(name, limit)
