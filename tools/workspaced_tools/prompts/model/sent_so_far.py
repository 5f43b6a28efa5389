"""What stands in the prompt before a turn: the library, and the turns before it as they were sent.

A compaction leaves parts out of turns that stay; a removed message takes its parts along. So a later part may
point to something that no longer stands above it. One line stands for each part left out, and for each such part.
"""

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from functools import lru_cache, partial
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import MessageId, NoteId
from workspaced_events.projections.conversations import Conversation, library_of, messages_before
from workspaced_events.schema.catalogue import LeftOut, LibraryEntry

from ...errors import NotRecorded
from .blocks import BLANK_LINE
from .kept_turns import KeptTurns
from .sent_turn import CHANGES, FRAME, PIN, SENT_VERSION, Key, SentPart, SentTurn, key_of
from .token_estimate import estimate_tokens
from .types import Block, Texts
from .untrusted_text import escape_field

_Gone = Mapping[tuple[str, str], str | None]
"""By kind and id what compactions left out of a turn, and why nothing stands for it; None: a line does."""
_SENT_SO_FAR: Final = "sent so far"
_TURN_CHARS_KEPT: Final = 16 * 1024
"""A longer turn is decoded each time that it is needed."""
LEFT_OUT: Final = "left_out"
"""The `form` of a line that stands for a part."""


class Shown(NamedTuple):
    """A thing that stands in the prompt."""

    revision: str
    turn: MessageId | None
    """The turn that shows it; None: the library."""


class SentSoFar:
    """Everything that stands in the prompt, updated turn by turn.

    Attributes:
        shown: what stands, by key, in the revision shown last.
        turns: the parts of each turn as the prompt shows them.
        active: the id of the note that was last named as the active one; None: no note was.
        reported: the states of notes reported as changed, by id.
        failed_pins: why a pin could not be read, by its id.
    """

    def __init__(self, library: tuple[LibraryEntry, ...]) -> None:
        self.shown: dict[Key, Shown] = {}
        self.turns: dict[MessageId, tuple[SentPart, ...]] = {}
        self.active: str | None = None
        self.reported: dict[str, str] = {}
        self.failed_pins: dict[str, str] = {}
        for entry in library:
            self.shown[key_of(entry.kind, entry.id, entry.revision)] = Shown(entry.revision, None)
        self._library = frozenset(self.shown)

    def copy(self) -> "SentSoFar":
        made = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(made, name, value.copy())
        return made

    def revision(self, key: Key) -> str | None:
        """The revision of the thing that the model saw last; None if none stands."""
        found = self.shown.get(key)
        return found.revision if found is not None else None

    def notes(self, key: Key) -> tuple[NoteId, ...]:
        """The notes that the thing had names or texts of where it was shown last."""
        turn = self.shown[key].turn
        parts = self.turns[turn] if turn is not None else ()
        return next((part.notes for part in reversed(parts) if part.key == key), ())

    def take(self, turn: MessageId, parts: tuple[SentPart, ...], left_out: _Gone) -> None:
        """Adds the next turn."""
        self.turns[turn] = tuple(self._taken(turn, part, left_out) for part in parts)

    def _taken(self, turn: MessageId, part: SentPart, left_out: _Gone) -> SentPart:
        if part.form == LEFT_OUT or part.kind in _NEVER_LEFT_OUT:
            return part
        if part.kind == CHANGES:
            if (CHANGES, part.id) in left_out:
                return replace(part, text="", tokens=0, reported=())
            self.reported.update(part.reported)
            return part
        if part.kind == PIN:
            self.failed_pins.pop(part.id, None)
        if why := left_out.get((part.kind, part.id)):
            return SentPart(part.kind, "", "", failed=why, form=LEFT_OUT)
        if not part.revision:
            return self._failed(part)
        if (part.kind, part.id) in left_out:
            return stand_in(part, in_library=part.key in self._library)
        if part.base and self.revision(part.key) != part.base:  # it does not stand above any more
            return stand_in(part, in_library=part.key in self._library)
        found = self.shown.get(part.key)
        points = found is not None and part.base == part.revision  # changes stand in their own turn
        self.shown[part.key] = Shown(part.revision, found.turn if found is not None and points else turn)
        return self._named(part)

    def _failed(self, part: SentPart) -> SentPart:
        """A part that shows nothing: what could not be read, or an unpinned pin."""
        if part.kind == PIN:
            self.shown.pop(part.key, None)
            if part.failed is not None:
                self.failed_pins[part.id] = part.failed
        return self._named(part)

    def _named(self, part: SentPart) -> SentPart:
        if part.kind == "active_note":
            self.active = part.id or None
        return part


_NEVER_LEFT_OUT: Final = frozenset({FRAME, "query"})


def stand_in(part: SentPart, *, in_library: bool) -> SentPart:
    """The line that stands for a part; a reference and a pin leave nothing."""
    text = "" if part.kind == PIN or part.base == part.revision else _left_out_line(part.id, in_library)
    return SentPart(part.kind, part.id, text, estimate_tokens(text), form=LEFT_OUT, notes=part.notes)


@lru_cache(maxsize=1_024)
def _left_out_line(name: str, in_library: bool) -> str:
    """Planning a compaction asks for those of all parts, several times."""
    what = "Find it in the context library above" if in_library else "Left out"
    return f"[{what}: {escape_field(name)}]"


def sent_so_far_of(
    conversation: Conversation, turn: MessageId, sent: Mapping[MessageId, SentTurn], kept: KeptTurns
) -> SentSoFar:
    """What stands in the prompt before the turn that begins with `turn`; `sent` as `sent_before` gives it.

    Whoever has it must not change it.
    """
    turns = tuple((name, each.parts) for name, each in sent.items() if name in conversation.turns)
    make = partial(_taken, kept)
    return kept.of(_SENT_SO_FAR, turn, make, library_of(conversation, turn), conversation.left_out, turns)


def _taken(
    kept: KeptTurns,
    library: tuple[LibraryEntry, ...],
    left_out: tuple[LeftOut, ...],
    turns: tuple[tuple[MessageId, tuple[SentPart, ...]], ...],
) -> SentSoFar:
    """Goes on from what stood before the last of the turns, if that is kept and nothing else has changed."""
    known, sent_so_far = 0, SentSoFar(library)
    former = kept.taken(_SENT_SO_FAR, turns[-1][0]) if turns else None
    if former is not None and former[0] == (library, left_out, turns[:-1]):
        known, sent_so_far = len(turns) - 1, former[1].copy()
    gone: dict[MessageId, dict[tuple[str, str], str | None]] = {}
    for each in left_out:
        of_turn = gone.setdefault(each.message, {})
        of_turn[each.kind, each.id] = each.why or of_turn.get((each.kind, each.id))
    for name, parts in turns[known:]:
        sent_so_far.take(name, parts, gone.get(name, {}))
    return sent_so_far


def sent_before(
    conversation: Conversation, turn: MessageId, texts: Texts, kept: KeptTurns, lost: Collection[str]
) -> dict[MessageId, SentTurn]:
    """The turns before `turn` that prompts repeat as they were sent, oldest first.

    Args:
        lost: the hashes of turns that are no longer kept; only their words stand.

    Raises:
        NotRecorded, LogDamaged: as `read_turn`.
    """
    names = {name: conversation.turns[name].turn_sha256 for name in _turns_before(conversation, turn)}
    return {name: kept_turn(name, sha256, texts, kept) for name, sha256 in names.items() if sha256 not in lost}


def lost_turns(conversation: Conversation, turn: MessageId, texts: Texts, kept: KeptTurns) -> tuple[str, ...]:
    """The hashes of turns before `turn` that are no longer kept."""
    found = []
    for name in _turns_before(conversation, turn):
        sha256 = conversation.turns[name].turn_sha256
        try:
            kept_turn(name, sha256, texts, kept)
        except NotRecorded:
            found.append(sha256)
    return tuple(found)


def kept_turn(name: MessageId, turn_sha256: str, texts: Texts, kept: KeptTurns) -> SentTurn:
    """As `read_turn`, which turn `name` was."""
    return kept.of("sent", name, partial(read_turn, texts), turn_sha256)


def _turns_before(conversation: Conversation, turn: MessageId) -> list[MessageId]:
    return [name for name in messages_before(conversation, turn) if name in conversation.turns]


# -- turns as they were sent --


def content_of(parts: Iterable[SentPart]) -> tuple[Block, ...]:
    """The content of the user's message that has these parts."""
    shown = [part for part in parts if part.text or part.is_image]
    pins = [Block("text", part.text) for part in shown if part.kind == PIN]
    text = BLANK_LINE.join(part.text for part in shown if part.kind != PIN and part.text)
    images = [Block("image", blob=part.revision, media_type=part.media_type) for part in shown if part.is_image]
    return (*pins, *([Block("text", text)] if text else ()), *images)


def read_turn(texts: Texts, turn_sha256: str) -> SentTurn:
    """A turn as it was sent.

    Raises:
        NotRecorded: the blob is not kept, or of a newer version.
        LogDamaged: the blob holds something else.
    """
    text = texts(turn_sha256)
    try:
        turn = _decoded(text) if len(text) <= _TURN_CHARS_KEPT else msgspec.json.decode(text, type=SentTurn)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {turn_sha256} holds no turn that was sent: {error}.") from None
    if turn.version > SENT_VERSION:
        raise NotRecorded(
            f"The turn is of version {turn.version}; this program reads up to {SENT_VERSION}",
            hint="Use a newer workspaced.",
        )
    return turn


@lru_cache(maxsize=512)
def _decoded(text: str) -> SentTurn:
    """Each prompt of a conversation needs all its turns, several times."""
    return msgspec.json.decode(text, type=SentTurn)
