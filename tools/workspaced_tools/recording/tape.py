"""Recording: what one call read through its `View`, as a value that the same call can be made again from.

The unit is a question to the View and what it answered. A `Tape` notes both while a tool runs, which costs next to
nothing; `recorded` makes the bytes of a `Recording` of it later, aside. A recording holds only what neither log
nor tool tells: of the state and the history no more than the positions of what the share policy left out, of a
note the name of its text, which is a blob of its own. So equal calls make equal recordings, which are kept once.

What is withheld never passes through a View, and so is in no recording.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState

from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..ports.history import PastPort, VersionAt
from ..ports.prompts import PromptsPort, ShownManifest
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
    VaultPort,
)
from ..ports.view import View
from ..sharing.gate import SharedHistory
from .format import (
    _LISTS,
    _ONES,
    VERSION,
    VERSION_AT,
    VISITS,
    Exchange,
    Raised,
    RecordedFailure,
    RecordedName,
    RecordedNote,
    RecordedVersion,
    Recording,
    _positions,
    question_json,
    raised,
)

R = TypeVar("R")

Keep = Callable[[bytes, str], object]
"""Keeps a text under its sha256."""


# -- while the tool runs --


class Asked:
    """The questions of one call and their answers, in order.

    The taped ports hold this and not the `Tape`, and of an error it keeps a `Raised`, which has no traceback: else
    every call would leave a cycle that keeps the notes it read in memory until the garbage collector comes.
    """

    def __init__(self) -> None:
        self.exchanges: list[tuple[str, Sequence[Any], Any]] = []

    def ask(self, name: str, question: Sequence[Any], answer: Callable[[], R]) -> R:
        """What `answer` gives, or raises, taken down."""
        try:
            given = answer()
        except Exception as error:
            self.exchanges.append((name, question, raised(error)))
            raise
        self.exchanges.append((name, question, given))
        return given


class Tape:
    """What a call asked and was answered. `view` is what the tool is to see."""

    def __init__(self, view: View, full: WorkspaceState) -> None:
        """`full` is the state that the view's was made of."""
        asked = Asked()
        self.asked = asked.exchanges
        self.full = full
        vault, history = view.vault, view.history
        self.view = View(
            state=view.state,
            now=view.now,
            vault=TapedVault(vault, asked) if vault is not None else None,
            history=TapedHistory(history, asked) if isinstance(history, SharedHistory) else history,
            past=TapedPast(view.past, asked),
            prompts=TapedPrompts(view.prompts, asked),
            sharing=view.sharing,
            withheld=view.withheld,
            also_at=view.also_at,
        )

    def repeats(self, other: "Tape") -> bool:
        """Whether it read the very same as `other`, so that their recordings are equal. False where that would
        take a closer look."""
        if len(self.asked) != len(other.asked):
            return False
        if self._state() != other._state() or self.view.sharing != other.view.sharing:
            return False
        return all(map(_repeats, self.asked, other.asked))

    def texts_bytes(self, *, new: bool = False) -> int:
        """How many bytes of text it read; `new`: only of notes that no tape asked for this before had read: those
        are in memory anyway."""
        found = 0
        for name, _question, answer in self.asked:
            for note in answer if name == "read" and isinstance(answer, list) else ():
                if isinstance(note, Note) and not (new and vars(note).get("taped")):
                    found += len(note.source)
                    if new:
                        vars(note)["taped"] = True
        return found

    def _state(self) -> tuple[int, int, int, tuple[int, ...]]:
        full, view = self.full, self.view
        return id(full.of(full.current)), id(view.vault_state), view.withheld, view.also_at


def _repeats(one: tuple[str, Sequence[Any], Any], other: tuple[str, Sequence[Any], Any]) -> bool:
    name, question, answer = one
    if name != other[0] or question != other[1]:
        return False
    if name == "read" and not isinstance(answer, Raised):
        # The content cache gives the same object for the same version; comparing texts costs more than a hash.
        return isinstance(other[2], list) and all(map(operator.is_, answer, other[2]))
    return type(answer) in (int, str) and answer == other[2]


class TapedVault:
    """Implements `VaultPort` over another one."""

    def __init__(self, vault: VaultPort, asked: Asked) -> None:
        self._vault = vault
        self._ask = asked.ask

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        return self._ask("read", (notes,), lambda: self._vault.read(notes))

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        return self._ask("resolve", (reference,), lambda: self._vault.resolve(reference, state))

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        return self._ask("link_targets", (source, links), lambda: self._vault.link_targets(source, links, state))

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        return self._ask("incoming", (note, limit), lambda: self._vault.incoming(note, limit, state))

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        return self._ask("names", (notes,), lambda: self._vault.names(notes))

    def search(self, search: Search) -> Found:
        return self._ask("search", (search,), lambda: self._vault.search(search))

    def members(self, folder: str | None, tag: str | None, limit: int) -> Members:
        return self._ask("members", (folder, tag, limit), lambda: self._vault.members(folder, tag, limit))

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        return self._ask("similar", (note, limit), lambda: self._vault.similar(note, limit))

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        return self._ask("sharing_tags", (note, limit), lambda: self._vault.sharing_tags(note, limit))

    def overview(self, limit: int) -> Overview:
        return self._ask("overview", (limit,), lambda: self._vault.overview(limit))

    def note_count(self) -> int | None:
        return self._ask("note_count", (), self._vault.note_count)

    def index_state(self) -> str:
        return self._ask("index_state", (), self._vault.index_state)


class TapedPast:
    """Implements `PastPort` over another one."""

    def __init__(self, past: PastPort, asked: Asked) -> None:
        self._past = past
        self._ask = asked.ask

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        return self._ask(VERSION_AT, (note, since, current), lambda: self._past.version(note, since, current))


class TapedPrompts:
    """Implements `PromptsPort` over another one."""

    def __init__(self, prompts: PromptsPort, asked: Asked) -> None:
        self._prompts = prompts
        self._ask = asked.ask

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        question = (conversation, message)
        return self._ask("manifest", question, lambda: self._prompts.manifest(*question))


class TapedHistory:
    """Implements `HistoryPort` over the gate's."""

    def __init__(self, history: SharedHistory, asked: Asked) -> None:
        self._history = history
        self._ask = asked.ask

    def visits(self) -> Sequence[Visit]:
        def given() -> tuple[Sequence[Visit], Sequence[Visit]]:
            shared = self._history.visits()
            return self._history.given or (shared, shared)

        return self._ask(VISITS, (), given)[1]


# -- afterwards --


def recorded(tape: Tape, keep: Keep) -> bytes:
    """The JSON of the tape's `Recording`; texts go to `keep`.

    Raises:
        OSError: of `keep`.
        UnicodeEncodeError: something asked or answered has no UTF-8 form.
    """
    view = tape.view
    return msgspec.json.encode(
        Recording(
            version=VERSION,
            level=view.sharing,
            served=view.vault is not None,
            withheld=view.withheld,
            left_out=_left_out(tape.full.of(tape.full.current), view.vault_state),
            asked=tuple(_exchange(name, question, answer, keep) for name, question, answer in tape.asked),
            also_at=view.also_at,
        )
    )


def _exchange(name: str, question: Sequence[Any], answer: Any, keep: Keep) -> Exchange:
    asked = msgspec.Raw(question_json(question))
    if isinstance(answer, Raised):
        return Exchange(name, asked, raised=answer)
    if name == "read":
        notes = msgspec.Raw(b"[" + b",".join(_kept(each, keep) for each in answer) + b"]")
        return Exchange(name, asked, notes)
    if name == VERSION_AT:
        note = msgspec.Raw(_kept(answer.note, keep))
        return Exchange(
            name, asked, msgspec.Raw(msgspec.json.encode(RecordedVersion(answer.seq, answer.at, note)))
        )
    if name == VISITS:
        every, shared = answer
        shown = {visit.note for visit in shared} if shared is not every else None
        answer = _positions({visit.note: None for visit in every}, shown) if shown is not None else ()
    return Exchange(name, asked, msgspec.Raw(msgspec.json.encode(answer)))


def _kept(found: Note | NoteFailure, keep: Keep) -> bytes:
    if isinstance(found, NoteFailure):
        return msgspec.json.encode(RecordedFailure(found.id, found.code, found.message))
    if isinstance(found, NameOnly):
        return msgspec.json.encode(RecordedName(found.id, found.title))
    known: tuple[str, bytes] | None = vars(found).get("kept")
    if known is None:
        text = found.source_sha256
        note = RecordedNote(found.id, found.stat, found.birth_ns, found.sha256, text, found.warnings)
        known = vars(found)["kept"] = (text, msgspec.json.encode(note))
    keep(found.source, known[0])
    return known[1]


def _left_out(full: VaultState, shared: VaultState) -> dict[str, tuple[int, ...]]:
    if shared is full:
        return {}
    gone = {
        name: _positions(getattr(full, name), getattr(shared, name))
        for name in _LISTS
        if getattr(full, name) is not getattr(shared, name)
    }
    gone |= {name: (0,) for name in _ONES if getattr(full, name) is not None and getattr(shared, name) is None}
    return gone
