"""`SearchAnswers`: which notes hold words, lie in a folder, have a tag or are similar, and what a vault holds."""

from collections.abc import Mapping
from typing import Final

import msgspec

from workspaced_events.ids import NoteId

from ..limits import HITS_COMPARED_MAX
from ..notes.note import Level, Note
from ..notes.snippet import Snippets
from ..ports.vault import (
    Found,
    MemberNotes,
    NoteRef,
    SearchHit,
    SearchQuery,
    SimilarNote,
    TaggedNote,
    VaultOverview,
)
from .checked_index import UPDATE_ATTEMPTS, CheckedIndex
from .index import queries
from .index.search import NEVER, search
from .index.similarity import similar
from .shared_notes import SharedNotes
from .young_folder import file_young_notes


class SearchAnswers:
    """One for each vault. Waits a limited time for an index that is being built."""

    def __init__(self, checked: CheckedIndex, notes: SharedNotes) -> None:
        self._checked: Final = checked
        self._notes: Final = notes
        self._is_withheld: Final = checked.levels.is_withheld

    def search(
        self, query: SearchQuery, visited: Mapping[NoteId, str] = NEVER, least: Level = Level.VOLUNTEER
    ) -> Found:
        """The hits among the notes of the level `least` alone.

        `visited`: when the user last visited notes; later times sort later.
        """
        return self._checked.asking(lambda: self._search(query, visited, least))

    def _search(self, query: SearchQuery, visited: Mapping[NoteId, str], least: Level) -> Found:
        self._checked.await_names()
        index = self._checked.index if least is Level.VOLUNTEER else self._checked.requested
        complete = self._checked.indexer.text_ready.is_set()
        for attempt in range(UPDATE_ATTEMPTS):
            # After a wrong hit more hits may be wrong, so ask for more of them.
            # A hit beyond the limit counts in the total, where a note must not show that turned private.
            limit = max(query.limit * 4**attempt, HITS_COMPARED_MAX)
            wider = msgspec.structs.replace(query, limit=limit)
            found = search(index, wider, visited)
            shown = [hit for hit in found.hits if not self._is_withheld(hit.note, least)]
            if self._checked.is_current([hit.note for hit in shown], least):
                break
        else:
            found = search(index, query, visited)
            shown = [
                hit
                for hit in found.hits
                if not self._is_withheld(hit.note, least) and self._checked.is_current([hit.note], least)
            ]
        total = found.total - (len(found.hits) - len(shown))
        shown = shown[: query.limit]
        snippets = Snippets(() if query.names_only else found.meant.terms)
        hits = [
            SearchHit(NoteRef(note.id, note.title, note.id), *snippets.of(note), hit.score)
            for hit, note in zip(shown, self._notes.read([hit.note for hit in shown], least), strict=True)
            if isinstance(note, Note)
        ]
        return Found(tuple(hits), total - (len(shown) - len(hits)), complete, found.is_exact, found.as_text)

    def members(self, folder: str | None, tag: str | None, limit: int) -> MemberNotes:
        def ask() -> MemberNotes:
            self._checked.await_names()
            if folder is not None:
                file_young_notes(self._checked, folder)
            for _ in range(UPDATE_ATTEMPTS):
                found, total = queries.members(self._checked.index, folder, tag, limit)
                shown = [note for note in found if not self._is_withheld(note)]
                if self._checked.is_current(shown):
                    break
            refs = self._checked.refs(shown)
            return MemberNotes(
                tuple(refs[note] for note in shown if note in refs), total - (len(found) - len(refs))
            )

        return self._checked.asking(ask)

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        def ask() -> list[SimilarNote]:
            [read] = self._notes.read([note])
            if not isinstance(read, Note):
                return []
            self._checked.await_names()
            text = f"{read.title}\n{read.body}"
            for _ in range(UPDATE_ATTEMPTS):
                found = similar(self._checked.index, note, text, limit)
                # A note that turned private a moment ago must not show in the weights of words.
                if self._checked.is_current([each for each in found.compared if not self._is_withheld(each)]):
                    break
            refs = self._checked.refs([each.note for each in found.notes])
            return [
                SimilarNote(refs[each.note], each.score, each.words) for each in found.notes if each.note in refs
            ]

        return self._checked.asking(ask)

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        def ask() -> list[TaggedNote]:
            self._checked.await_names()
            if self._is_withheld(note):
                return []
            found = queries.sharing_tags(self._checked.index, note, limit)
            refs = self._checked.refs([each.note for each in found])
            return [TaggedNote(refs[each.note], each.words, each.score) for each in found if each.note in refs]

        return self._checked.asking(ask)

    def overview(self, limit: int) -> VaultOverview:
        def ask() -> VaultOverview:
            self._checked.await_names()
            changed = queries.last_changed(self._checked.index, limit)
            refs = self._checked.refs([note for note, _ in changed])
            return VaultOverview(
                self._checked.index.count(),
                self._checked.index.link_count(),
                tuple(queries.top_tags(self._checked.index, limit)),
                tuple((refs[note], mtime_ns) for note, mtime_ns in changed if note in refs),
            )

        return self._checked.asking(ask)
