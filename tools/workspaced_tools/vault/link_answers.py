"""`LinkAnswers`: what references and links mean, which notes link to a note, and which names begin with a text.

Where a method takes `least`, it is the least level that its audience is shown.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Level
from ..ports.vault import IncomingLinks, LinkName, LinkTarget, NamesFound, Resolution
from .checked_index import UPDATE_ATTEMPTS, CheckedIndex
from .file_lookup import FileLookup
from .index.entries import NamedNote
from .links.backlinks import incoming
from .links.followed_references import resolve_from
from .links.link_targets import LinkResolver
from .links.name_completion import names_like
from .links.resolver import Lookup, resolve
from .other_files import OtherFiles, file_at
from .shared_notes import SharedNotes


class LinkAnswers:
    """One for each vault. Waits a limited time for the index where an answer depends on it."""

    def __init__(self, checked: CheckedIndex, notes: SharedNotes, files: OtherFiles) -> None:
        self._checked: Final = checked
        self._notes: Final = notes
        self._files: Final = files
        self._is_withheld: Final = checked.levels.is_withheld

    def resolve(self, reference: str, state: VaultState, least: Level = Level.VOLUNTEER) -> Resolution:
        def look(lookup: Lookup) -> Resolution:
            return resolve(reference, lookup, state)

        return self._checked.asking(lambda: self._resolved(look, state, least))

    def resolve_from(
        self,
        reference: str,
        source: str,
        state: VaultState,
        least: Level = Level.VOLUNTEER,
        own: NamedNote | None = None,
    ) -> Resolution:
        """`own`: the note that `source` names, if it is for explicit requests only."""

        def look(lookup: Lookup) -> Resolution:
            return resolve_from(reference, source, lookup, state)

        return self._checked.asking(lambda: self._resolved(look, state, least, own))

    def _resolved(
        self,
        look: Callable[[Lookup], Resolution],
        state: VaultState,
        least: Level,
        own: NamedNote | None = None,
    ) -> Resolution:
        """The result of `look`, checked against the files. Waits for the index if the result depends on it."""

        def lookup() -> Lookup:
            return FileLookup(self._checked, self._notes, self._files, state, least, own)

        ready = self._checked.indexer.ready.is_set()
        found = look(lookup())
        if not ready and not found.complete:
            # The note may be newer than the stored index.
            ready = self._checked.await_ready()
            found = look(lookup())
        for _ in range(UPDATE_ATTEMPTS):
            refs = [found.note] if found.note is not None else [*found.candidates, *found.near]
            others = [ref.id for ref in refs if own is None or ref.id != own.id]
            if found.resolved_by == "path" or self._checked.is_current(others, least):
                break
            found = look(lookup())
        return msgspec.structs.replace(found, complete=found.complete or ready)

    def link_targets(
        self, source: NoteId, links: Sequence[LinkName], state: VaultState, least: Level = Level.VOLUNTEER
    ) -> list[LinkTarget]:
        """`least`: of the source. Every other note is one that may be shown unasked."""

        def ask() -> list[LinkTarget]:
            self._checked.await_names()
            own = self._checked.entry(source, least) if least is not Level.VOLUNTEER else None
            for _ in range(UPDATE_ATTEMPTS):
                resolver = LinkResolver(self._files.lookup(own), state)
                targets = [resolver.target(source, link) for link in links]
                others = {target.note.id for target in targets if target.note is not None} - {source}
                if self._checked.is_current(others):
                    break
            return targets

        return self._checked.asking(ask)

    def incoming(
        self, note: NoteId, limit: int, state: VaultState, least: Level = Level.VOLUNTEER
    ) -> IncomingLinks:
        """`least`: of the note. Every other note is one that may be shown unasked."""
        return self._checked.asking(lambda: self._incoming(note, limit, state, least))

    def _incoming(self, note: NoteId, limit: int, state: VaultState, least: Level) -> IncomingLinks:
        self._checked.await_names()
        entry: NamedNote | None = file_at(note) if self._files.has(note) else self._checked.entry(note, least)
        if entry is None:
            return IncomingLinks((), 0)
        own = entry if least is not Level.VOLUNTEER else None
        for _ in range(UPDATE_ATTEMPTS):
            found = incoming(entry, limit, state, self._checked.index, self._files.lookup(own))
            if self._checked.is_current({link.source.id for link in found.links}):
                break
        return found

    def names_like(self, prefix: str, limit: int, state: VaultState) -> NamesFound:
        def ask() -> NamesFound:
            self._checked.await_names()
            for _ in range(UPDATE_ATTEMPTS):
                complete = self._checked.indexer.text_ready.is_set()
                found = names_like(prefix, limit, state, self._checked.index, self._is_withheld)
                if self._checked.is_current([hit.note.id for hit in found]):
                    break
            return NamesFound(tuple(found), complete)

        return self._checked.asking(ask)
