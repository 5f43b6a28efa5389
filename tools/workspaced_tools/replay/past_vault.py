"""`PastVault`, `PastVersions`: the ports of a `View` of a past moment.

What is shared is decided by the present. A note that is withheld by now does not exist; an answer that names one,
or may have counted one, is not recorded.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.replay.log_cursor import Moment

from ..errors import ArgumentInvalid, NoteNotFound, NotRecorded
from ..notes.note import Note, NoteFailure
from ..ports.history import SWITCHED_ON, VersionAt
from ..ports.vault import (
    Found,
    Incoming,
    LinkName,
    LinkTarget,
    Members,
    NoteRef,
    Overview,
    Resolution,
    Search,
    SimilarNote,
    TaggedNote,
)
from ..recording.format import VERSION_AT
from .past_facts import NotAsked, Past, named_in
from .recorded_reads import Recordings

T = TypeVar("T")


class PastVault:
    """Implements `VaultPort` for a past moment."""

    def __init__(self, past: Past, withheld: Callable[[NoteId], bool], *, some_withheld: bool = False) -> None:
        """
        Args:
            withheld: whether a note is by now.
            some_withheld: whether any note of the vault may be.
        """
        self._past = past
        self._withheld = withheld
        self._some_withheld = some_withheld

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        try:
            found = self._past.own("read", notes)
        except NotAsked:
            return [self._read(note) for note in notes]
        return [_missing(each.id) if self._withheld(each.id) else each for each in found]

    def _read(self, note: NoteId) -> Note | NoteFailure:
        if self._withheld(note):
            return _missing(note)
        try:
            return self._past.version(note)
        except NotRecorded as error:
            return NoteFailure(note, NotRecorded.code, f"{error.message}.")

    def resolve(self, reference: str, state: VaultState) -> Resolution:  # noqa: ARG002
        try:
            found: Resolution = self._shown("resolve", self._past.own("resolve", reference))
            return found
        except NotAsked:
            pass
        try:
            found = self._shown("resolve", self._past.answer("resolve", reference))
            if not found.candidates:  # their order goes by the state
                return found
        except NotRecorded:
            ref = self._name(NoteId(reference)) if reference.lower().endswith(".md") else None
            if ref is not None:
                return Resolution(ref, "path")
        raise self._past.nobody_asked("resolve")

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:  # noqa: ARG002
        found: list[LinkTarget] = self._answer("link_targets", source, links)
        return self._whole("link_targets", found, all_named=not any(each.ambiguous for each in found))

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:  # noqa: ARG002
        found: Incoming = self._answer("incoming", note, limit)
        return self._whole("incoming", found, all_named=found.total == len(found.links))

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        try:
            found: list[NoteRef | None] = self._past.own("names", notes)
        except NotAsked:
            return [self._name(note) for note in notes]
        return [None if self._withheld(note) else ref for note, ref in zip(notes, found, strict=True)]

    def _name(self, note: NoteId) -> NoteRef | None:
        title = self._past.title(note) if not self._withheld(note) else None
        return NoteRef(note, title, note) if title is not None else None

    def search(self, search: Search) -> Found:
        found: Found = self._answer("search", search)
        return self._whole("search", found, all_named=found.total == len(found.hits))

    def members(self, folder: str | None, tag: str | None, limit: int) -> Members:
        found: Members = self._answer("members", folder, tag, limit)
        return self._whole("members", found, all_named=found.total == len(found.notes))

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        found: list[SimilarNote] = self._answer("similar", note, limit)
        return found

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        found: list[TaggedNote] = self._answer("sharing_tags", note, limit)
        return found

    def overview(self, limit: int) -> Overview:
        found: Overview = self._answer("overview", limit)
        return self._whole("overview", found, all_named=False)

    def note_count(self) -> int | None:
        if self._some_withheld:
            return None
        try:
            count: int | None = self._past.own("note_count")
        except NotAsked:
            count = self._past.note_count()
        return count

    def index_state(self) -> str:
        try:
            return str(self._past.own("index_state"))
        except NotAsked:
            return self._past.index_state()

    def _answer(self, ask: str, *question: Any) -> Any:
        """
        Raises:
            NotRecorded: nobody asked, or what is withheld by now was named.
        """
        try:
            return self._shown(ask, self._past.own(ask, *question))
        except NotAsked:
            return self._shown(ask, self._past.answer(ask, *question))

    def _shown(self, ask: str, answer: Any) -> Any:
        """
        Raises:
            NotRecorded: it names what is withheld by now; in the words of an answer that was never recorded.
        """
        if any(self._withheld(note) for note in named_in(answer)):
            raise self._past.nobody_asked(ask)
        return answer

    def _whole(self, ask: str, answer: T, *, all_named: bool) -> T:
        """`answer`, unless it may have counted a note that it does not name and that is withheld by now."""
        if self._some_withheld and not all_named:
            raise self._past.nobody_asked(ask)
        return answer


def _missing(note: NoteId) -> NoteFailure:
    return NoteFailure(note, NoteNotFound.code, "There is no such note.")


class PastVersions:
    """Implements `PastPort` for one vault and the moments up to one."""

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
        if self._withheld(note):
            raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)
        present = Past(self._events, self._recordings, self._vault, self._moment)
        try:
            found: VersionAt = present.own(VERSION_AT, note, since, current)
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
            raise ArgumentInvalid(f"Expected a moment up to sequence {self._moment.seq}, got {since!r}.")
        then = Past(self._events, self._recordings, self._vault, moment)
        former = present.name_at(note, moment.seq)
        try:
            if not self._withheld(former):
                return VersionAt(moment.seq, moment.time, then.version(former))
        except NotRecorded:
            pass  # and its message names the note as it was called then
        raise NotRecorded(f"No version of {note} at that moment is recorded", hint=SWITCHED_ON)
