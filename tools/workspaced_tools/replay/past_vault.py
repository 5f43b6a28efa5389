"""`PastVault` and `PastVersions`: what a `View` of a past moment answers from.

The present share policy applies to the past. A note that is withheld now does not exist here; an answer that names
such a note, or may count one, is `NOT_RECORDED`.
"""

import unicodedata
from collections.abc import Callable
from typing import Any

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.replay.log_cursor import Moment

from ..errors import ArgumentInvalid, NoteNotFound, NotRecorded
from ..notes.note import Note, NoteFailure
from ..ports import questions as q
from ..ports.asking import UNASKED, Audience
from ..ports.history import SWITCHED_ON, VersionAt
from ..ports.vault import (
    Found,
    IncomingLinks,
    LinkTarget,
    MemberNotes,
    NoteImages,
    NoteRef,
    Resolution,
    VaultOverview,
)
from .past_facts import NotAsked, Past, named_in
from .recorded_reads import Recordings


class PastVault:
    """Implements `VaultSource` for a past moment."""

    def __init__(
        self,
        past: Past,
        withheld: Callable[[NoteId], bool],
        *,
        others: Callable[[NoteId], bool] | None = None,
        withheld_image: Callable[[str], bool],
        some_withheld: bool = False,
    ) -> None:
        """
        Args:
            withheld: whether a note is withheld at present.
            others: the same for notes that an answer names beside the one that it is about; None: as `withheld`.
            withheld_image: the same for an image's path.
            some_withheld: whether any note of the vault may be withheld.
        """
        self._past = past
        self._withheld = withheld
        self._others = others or withheld
        self._withheld_image = withheld_image
        self._some_withheld = some_withheld

    def ask(self, question: q.Question[q.R], _state: VaultState, _audience: Audience = UNASKED) -> q.R:
        answer: Any
        match question:
            case q.Read():
                answer = self._read_all(question)
            case q.Names():
                answer = self._names(question)
            case q.Resolve():
                answer = self._resolve(question)
            case q.ResolveFrom():
                answer = self._resolve_from(question)
            case q.Images():
                answer = self._images(question)
            case q.Outline() if self._withheld(question.note):
                raise self._past.nobody_asked(question)
            case q.NoteCount() if self._some_withheld:
                answer = None
            case q.NoteCount() | q.IndexState():
                try:
                    answer = self._past.own(question)
                except NotAsked:
                    is_count = isinstance(question, q.NoteCount)
                    answer = self._past.note_count() if is_count else self._past.index_state()
            case _:
                answer = self._answer(question)
        result: q.R = answer
        return result

    def _read_all(self, question: q.Read) -> list[Note | NoteFailure]:
        try:
            found: list[Note | NoteFailure] = self._past.own(question)
        except NotAsked:
            return [self._read(note) for note in question.notes]
        return [_missing(each.id) if self._withheld(each.id) else each for each in found]

    def _read(self, note: NoteId) -> Note | NoteFailure:
        if self._withheld(note):
            return _missing(note)
        try:
            return self._past.version(note)
        except NotRecorded as error:
            return NoteFailure(note, NotRecorded.code, f"{error.message}.")

    def _names(self, question: q.Names) -> list[NoteRef | None]:
        try:
            found: list[NoteRef | None] = self._past.own(question)
        except NotAsked:
            return [self._name(note) for note in question.notes]
        return [None if self._withheld(note) else ref for note, ref in zip(question.notes, found, strict=True)]

    def _name(self, note: NoteId) -> NoteRef | None:
        title = self._past.title(note) if not self._withheld(note) else None
        return NoteRef(note, title, note) if title is not None else None

    def _resolve(self, question: q.Resolve) -> Resolution:
        try:
            found: Resolution = self._shown(question, self._past.own(question))
            return found
        except NotAsked:
            pass
        try:
            found = self._shown(question, self._past.answer(question))
            if not found.candidates:  # their order depends on the state
                return found
        except NotRecorded:
            reference = question.reference
            ref = self._name(NoteId(reference)) if reference.lower().endswith(".md") else None
            if ref is not None:
                return Resolution(ref, "path")
        raise self._past.nobody_asked(question)

    def _resolve_from(self, question: q.ResolveFrom) -> Resolution:
        """
        Raises:
            NotRecorded: as `_answer`, or the note that the reference stands in is withheld at present.
        """
        try:
            found: Resolution = self._past.own(question)
        except NotAsked:
            found = self._past.answer(question)
            if found.candidates:  # their order goes by the state
                raise self._past.nobody_asked(question) from None
        source = unicodedata.normalize("NFC", question.source.strip().removeprefix("./"))
        if self._withheld(NoteId(source if source[-3:].lower() == ".md" else f"{source}.md")):
            raise self._past.nobody_asked(question)
        shown: Resolution = self._shown(question, found)
        return shown

    def _images(self, question: q.Images) -> NoteImages:
        """Only the call at the moment knows: no event tells when an image changed.

        Raises:
            NotRecorded: it did not ask for them, or an image of the answer is withheld now.
        """
        try:
            found: NoteImages = self._past.own(question)
        except NotAsked:
            raise self._past.nobody_asked(question) from None
        paths = [each.path for each in found.images if each.path is not None]
        if self._withheld(question.note) or any(map(self._withheld_image, paths)):
            raise self._past.nobody_asked(question)
        return found

    def _answer(self, question: q.Question[Any]) -> Any:
        """
        Raises:
            NotRecorded: no call asked the question, or the answer names or may count a note that is withheld now.
        """
        try:
            answer = self._shown(question, self._past.own(question))
        except NotAsked:
            answer = self._shown(question, self._past.answer(question))
        if self._some_withheld and _may_count_others(answer):
            raise self._past.nobody_asked(question)
        return answer

    def _shown(self, question: q.Question[Any], answer: Any) -> Any:
        """
        Raises:
            NotRecorded: the answer names a note that is withheld now. The message is that of `nobody_asked`.
        """
        meant = _meant_by(question, answer)
        if any((self._withheld if note in meant else self._others)(note) for note in named_in(answer)):
            raise self._past.nobody_asked(question)
        return answer


def _meant_by(question: q.Question[Any], answer: Any) -> set[NoteId]:
    """The notes that the question itself asks for."""
    match question, answer:
        case ((q.LinkTargets(note) | q.Incoming(note)), _):
            return {note}
        case q.Search(), Found(hits):
            return {hit.note.id for hit in hits}
        case _, Resolution(NoteRef(note)):
            return {note}
    return set()


def _may_count_others(answer: Any) -> bool:
    """Whether the answer may count notes that it does not name."""
    match answer:
        case [*targets] if any(isinstance(each, LinkTarget) and each.ambiguous for each in targets):
            return True
        case IncomingLinks(links, total, _) | Found(links, total) | MemberNotes(links, total):
            return total != len(links)
        case VaultOverview():
            return True
    return False


def _missing(note: NoteId) -> NoteFailure:
    return NoteFailure(note, NoteNotFound.code, "There is no such note.")


class PastVersions:
    """Earlier versions of the notes of one vault, up to one moment. Safe from any thread; blocks."""

    def __init__(
        self,
        events: PastEvents,
        recordings: Recordings,
        vault: VaultId,
        moment: Moment,
        withheld: Callable[[NoteId], bool],
    ) -> None:
        self._events = events
        self._recordings = recordings
        self._vault = vault
        self._moment = moment
        self._withheld = withheld

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        """As the question `VersionOf`, with the note's present path."""
        if self._withheld(note):
            raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)
        present = Past(self._events, self._recordings, self._vault, self._moment)
        try:
            found: VersionAt = present.own(q.VersionOf(note, since, current))
        except NotAsked:
            return self._version(present, note, since, current)
        return found

    def _version(self, present: Past, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        if since is None:
            return present.other_version(note, current)
        try:
            moment = self._events.moment(since)
        except InvalidArgument as error:
            raise ArgumentInvalid(error.message, hint=error.hint) from None
        if moment.seq > self._moment.seq:
            raise ArgumentInvalid(
                f"Expected a moment up to sequence {self._moment.seq}, got {since!r}.",
                hint="Ask with a `since` before `at`.",
            )
        then = Past(self._events, self._recordings, self._vault, moment)
        former = present.name_at(note, moment.seq)
        try:
            if not self._withheld(former):
                return VersionAt(moment.seq, moment.time, then.version(former))
        except NotRecorded:
            pass  # its message would name the former path
        raise NotRecorded(f"No version of {note} at that moment is recorded", hint=SWITCHED_ON)
