"""`SearchAnswers`: which notes hold words, lie in a folder, have a tag or are similar, and what a vault holds."""

import time
from collections.abc import Mapping
from typing import Final

import msgspec

from workspaced_events.ids import NoteId

from ..limits import HITS_COMPARED_MAX, MEMBERS_ATTACHED_MAX, SETTLE_S
from ..notes.note import Level, Note
from ..notes.snippet import Snippets
from ..ports.asking import Audience
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
from .files.safe_open import VaultRoot
from .files.walk import notes_below
from .index import queries
from .index.index import Index
from .index.search import NEVER, search
from .index.similarity import similar
from .shared_notes import UPDATE_ATTEMPTS, SharedNotes, asking_again

_YOUNG_S: Final = 5.0
"""A watcher has reported a change of a folder by this time."""
_MARGIN_S: Final = 0.02


class SearchAnswers:
    """One for each vault. Waits a limited time for an index that is being built."""

    def __init__(self, notes: SharedNotes) -> None:
        self._notes: Final = notes
        self._is_withheld: Final = notes.levels.is_withheld

    @asking_again
    def search(
        self, query: SearchQuery, visited: Mapping[NoteId, str] = NEVER, least: Level = Level.VOLUNTEER
    ) -> Found:
        """The hits among the notes that an audience is shown.

        Args:
            visited: when the user last visited notes; later times sort later.
            least: the least level of these notes.
        """
        self._notes.await_names()
        complete = self._notes.indexer.text_ready.is_set()
        for attempt in range(UPDATE_ATTEMPTS):
            # After a wrong hit more hits may be wrong, so ask for more of them.
            # A hit beyond the limit counts in the total, where a note must not show that turned private.
            limit = max(query.limit * 4**attempt, HITS_COMPARED_MAX)
            found = search(self._indexes(least), msgspec.structs.replace(query, limit=limit), visited)
            shown = [hit for hit in found.hits if not self._is_withheld(hit.note, least)]
            compared = [note for note in found.compared if not self._is_withheld(note, least)]
            if self._notes.is_current([*(hit.note for hit in shown), *compared], least):
                break
        else:
            found = search(self._indexes(least), query, visited)
            shown = [
                hit
                for hit in found.hits
                if not self._is_withheld(hit.note, least) and self._notes.is_current([hit.note], least)
            ]
        total = found.total - (len(found.hits) - len(shown))
        shown = shown[: query.limit]
        snippets = Snippets(() if query.names_only else found.meant.terms, found.ranking)
        hits = []
        read = self._notes.read([hit.note for hit in shown], Audience(least))
        for hit, note in zip(shown, read, strict=True):
            if isinstance(note, Note):
                line, text, heading = snippets.of(note) if hit.missing is None else snippets.of_part(note)
                ref = NoteRef(note.id, note.title, note.id)
                hits.append(SearchHit(ref, line, text, hit.score, heading, hit.missing))
        return Found(tuple(hits), total - (len(shown) - len(hits)), complete, found.is_exact, found.as_text)

    def _indexes(self, least: Level) -> tuple[Index, ...]:
        """Those with the notes of an audience."""
        notes = self._notes
        is_asked = least is not Level.VOLUNTEER and notes.has_requested
        return (notes.index, notes.requested) if is_asked else (notes.index,)

    @asking_again
    def members(self, folder: str | None, tag: str | None, limit: int) -> MemberNotes:
        self._notes.await_names()
        if folder is not None:
            self._file_young_notes(folder)
        for _ in range(UPDATE_ATTEMPTS):
            found, total = queries.members(self._notes.index, folder, tag, limit)
            shown = [note for note in found if not self._is_withheld(note)]
            if self._notes.is_current(shown):
                break
        refs = self._notes.refs(shown)
        return MemberNotes(tuple(refs[note] for note in shown if note in refs), total - (len(found) - len(refs)))

    @asking_again
    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        [read] = self._notes.read([note])
        if not isinstance(read, Note):
            return []
        self._notes.await_names()
        text = f"{read.title}\n{read.body}"
        for _ in range(UPDATE_ATTEMPTS):
            found = similar(self._notes.index, note, text, limit)
            # A note that turned private a moment ago must not show in the weights of words.
            if self._notes.is_current([each for each in found.compared if not self._is_withheld(each)]):
                break
        refs = self._notes.refs([each.note for each in found.notes])
        return [SimilarNote(refs[each.note], each.score, each.words) for each in found.notes if each.note in refs]

    @asking_again
    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        self._notes.await_names()
        if self._is_withheld(note):
            return []
        found = queries.sharing_tags(self._notes.index, note, limit)
        refs = self._notes.refs([each.note for each in found])
        return [TaggedNote(refs[each.note], each.words, each.score) for each in found if each.note in refs]

    @asking_again
    def overview(self, limit: int) -> VaultOverview:
        self._notes.await_names()
        changed = queries.last_changed(self._notes.index, limit)
        refs = self._notes.refs([note for note, _ in changed])
        return VaultOverview(
            self._notes.index.count(),
            self._notes.index.link_count,
            tuple(queries.top_tags(self._notes.index, limit)),
            tuple((refs[note], mtime_ns) for note, mtime_ns in changed if note in refs),
        )

    def _file_young_notes(self, folder: str) -> None:
        """Files the notes of a folder that changed a moment ago, or of which the index knows no note.

        Waits until those that may still be being written have settled, at most SETTLE_S. Blocks, and reads files.

        Raises:
            ReadFailed: the vault's folder is absent or cannot be opened.
        """
        notes = self._notes
        index, levels = notes.index, notes.levels
        if not folder or levels.policy.denies(NoteId(f"{folder}/")):
            return
        if index.any_below(f"{folder}/") and not _is_young(notes.root, folder):
            return
        found = [
            note
            for note in notes_below(notes.root, folder, MEMBERS_ATTACHED_MAX)
            if not levels.policy.denies(note)
        ]
        known = index.entries(found)
        new = [note for note in found if note not in known or levels.is_hidden(note)]
        if not new:
            return
        notes.indexer.file(new)
        unsettled = set(new).intersection(levels.unsettled)
        if unsettled:
            time.sleep(SETTLE_S + _MARGIN_S)
            notes.indexer.file(unsettled)


def _is_young(root: VaultRoot, folder: str) -> bool:
    try:
        status = (root.path / folder).lstat()
    except OSError:
        return False
    return time.time() - status.st_mtime < _YOUNG_S
