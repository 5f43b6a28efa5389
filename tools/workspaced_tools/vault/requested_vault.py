"""`RequestedVault`: the vault as an agent sees it that asks for notes explicitly.

Notes for explicit requests only exist here where the question itself means them: as what a path or reference
names, and among the hits of a search. In what is said about another note they do not: they are no link's target,
no backlink, no candidate of an ambiguous name and no near name. So a name that means other notes still does.
"""

from collections.abc import Sequence
from typing import Any, Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..errors import ToolError
from ..notes.note import Level, Note
from ..ports.questions import (
    Images,
    Incoming,
    LinkTargets,
    Names,
    Outline,
    Question,
    R,
    Read,
    Resolve,
    ResolveFrom,
    Search,
)
from ..ports.vault import Found, NoteRef, Resolution, SearchQuery
from .index.entries import NamedNote
from .vault import Vault

_LEAST: Final = Level.ON_REQUEST


class RequestedVault:
    """Implements `VaultSource` over `vault`, which answers every question that names no note explicitly."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[R], state: VaultState) -> R:
        vault = self._vault
        answer: Any
        match question:
            case Read(notes):
                answer = vault.read(notes, state, _LEAST)
            case Names(notes):
                answer = self._names(notes, state)
            case Resolve(reference):
                answer = self._resolve(reference, state)
            case ResolveFrom(reference, source):
                answer = self._resolve_from(reference, source, state)
            case LinkTargets(source, links):
                answer = vault.links.link_targets(source, links, state, self._least_of(source))
            case Incoming(note, limit):
                answer = vault.links.incoming(note, limit, state, self._least_of(note))
            case Images(note):
                answer = vault.images(note, state, self._least_of(note))
            case Outline(note):
                answer = vault.outline(note, state, self._least_of(note))
            case Search(query):
                answer = self._search(query, state)
            case _:
                return vault.ask(question, state)
        result: R = answer
        return result

    def _least_of(self, note: NoteId) -> Level:
        """VOLUNTEER for a note that is shown unasked, so that the answers about it are those that all get."""
        return _LEAST if self._vault.is_withheld(note) else Level.VOLUNTEER

    def _names(self, notes: Sequence[NoteId], state: VaultState) -> list[NoteRef | None]:
        refs = self._vault.names(notes, state, _LEAST)
        unnamed = [
            note for note, ref in zip(notes, refs, strict=True) if ref is None and not self._vault.files.has(note)
        ]
        read = {each.id: each for each in self._vault.notes.read(unnamed, _LEAST) if isinstance(each, Note)}
        return [
            NoteRef(note, read[note].title, note) if note in read else ref
            for note, ref in zip(notes, refs, strict=True)
        ]

    def _resolve(self, reference: str, state: VaultState) -> Resolution:
        shown = self._vault.links.resolve(reference, state)
        if shown.resolved_by == "path" or (_means_some(shown) and not self._vault.has_requested):
            return shown
        found = self._vault.links.resolve(reference, state, _LEAST)
        is_meant = found.note is not None and (found.resolved_by == "path" or not _means_some(shown))
        return found if is_meant else shown

    def _resolve_from(self, reference: str, source: str, state: VaultState) -> Resolution:
        shown = self._vault.links.resolve_from(reference, source, state, own=self._source(source, state))
        if _means_some(shown):
            return shown
        found = self._vault.links.resolve_from(reference, source, state, _LEAST)
        return found if found.note is not None else shown

    def _source(self, source: str, state: VaultState) -> NamedNote | None:
        """The note that a reference stands in, if it is one for explicit requests only."""
        try:
            found = self._vault.links.resolve(source, state, _LEAST)
        except ToolError:
            return None
        if found.note is None or found.resolved_by not in ("path", "formerPath"):
            return None
        return self._vault.requested_entry(found.note.id) if self._vault.is_withheld(found.note.id) else None

    def _search(self, query: SearchQuery, state: VaultState) -> Found:
        shown = self._vault.searches.search(query, state.recents)
        if not self._vault.has_requested:
            return shown
        return _merged(shown, self._vault.searches.search(query, state.recents, _LEAST), query.limit)


def _means_some(found: Resolution) -> bool:
    return found.note is not None or bool(found.candidates)


def _merged(one: Found, other: Found, limit: int) -> Found:
    """The hits of two indexes. A score depends on its note alone, so scores can be compared."""
    if one.as_text is not other.as_text:  # The operators found something in one of the two, so they are operators.
        return other if one.as_text else one
    hits = sorted((*one.hits, *other.hits), key=lambda hit: -hit.score)
    return Found(
        tuple(hits[:limit]),
        one.total + other.total,
        one.complete and other.complete,
        one.exact and other.exact,
        one.as_text,
    )
