"""`get_related_notes`: the notes related to a note, with reasons.

There is no model. Each signal gives a strength that grows ever more slowly, so that a hundred links do not
outweigh everything else; the score is their weighted mean. Links weigh most, because the user made them. What is
opened next was also visited together, so it weighs less. BM25 counts only in proportion to the best one, since its
scale differs from vault to vault.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from pydantic import Field

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..answers import Kind, Reason, RelatedNote, RelatedNotes, Suggestions
from ..errors import NoActiveNote, NoteNotFound
from ..limits import REFERENCE_CHARS_MAX, RESULTS_CHARS_MAX, RESULTS_LISTED_MAX
from ..notes.name_only import NAMES_ONLY
from ..notes.note import Note
from ..ports.asking import VaultPort
from ..ports.questions import Incoming, IndexState, LinkTargets, Names, Read, SharingTags, Similar, Visits
from ..ports.vault import LinkName, NoteRef, SimilarNote, TaggedNote
from ..ports.view import View
from .note_answers import NO_ACTIVE_NOTE, OPEN_A_NOTE, note_or_error, served_vault
from .read_note import name_of, only_note
from .references import resolved
from .tool import Answer, Arguments, Tool
from .visit_answers import Room, opened_next, visited_together

_REASON_WORDS_MAX: Final = 5
"""Tags or words in one reason."""
_RELATED_INCOMING_MAX: Final = 500
"""Links to a note that are counted."""
_RELATED_LOOKED_AT_MAX: Final = 50
"""Notes compared for each signal: shared tags, similar text, visits close together, visits soon after."""
_WEIGHTS: Final[dict[Kind, float]] = {
    "linksTo": 1.0,
    "linkedFrom": 1.0,
    "sharedTags": 0.75,
    "visitedTogether": 0.75,
    "openedNext": 0.5,
    "similarText": 0.75,
}
_LINKS_HALF: Final = 1.0
_TAGS_HALF: Final = 3.0
_VISITS_HALF: Final = 2.0
_NEXT_HALF: Final = 3.0
_WORDS_HALF: Final = 3.0
_SCORE_DIGITS: Final = 3


class GetRelatedNotes(Arguments):
    reference: str | None = Field(
        None, min_length=1, max_length=REFERENCE_CHARS_MAX, description="Default: the active note."
    )
    limit: int = Field(10, ge=1, le=RESULTS_LISTED_MAX, description="Notes.")


def get_related_notes(view: View, arguments: GetRelatedNotes) -> Answer[RelatedNotes]:
    """The notes most related to one note, with the reasons.

    A client that may see only names gets neither reasons nor scores, and only notes related by visits.

    Raises:
        NoActiveVault.
        NoActiveNote: there is no reference and no active note.
        ReferenceOutsideVault, ArgumentInvalid: the reference is not allowed.
        AmbiguousReference: the reference means several notes, listed in `candidates`.
        NoteNotFound: it means no note (`near`), or the file is missing.
        ReadFailed: the file exists and cannot be read.
    """
    vault, state = served_vault(view)
    note = _note(view, arguments.reference)
    warnings = [NAMES_ONLY] if view.sharing == "names" else []
    if vault.ask(IndexState()) != "ready":
        warnings.append("The index is still being built: links, tags and words may be incomplete.")
    ranked = _ranked(_all_ties(vault, note, warnings), state)
    shown = [_entry(tied, state, names_only=view.sharing == "names") for tied in ranked[: arguments.limit]]
    room = Room(RESULTS_CHARS_MAX)
    [name] = room.fitting([name_of(NoteRef(note.id, note.title, note.id))])
    related = room.fitting(shown)
    if len(related) < len(shown):
        warnings.append(f"The answer is full: {len(shown) - len(related)} notes are left out.")
    message = (
        f"{len(related)} of {len(ranked)} related notes, the most related first."
        if ranked
        else "Nothing is known to be related to this note. Try search_workspace with words of it."
    )
    return Answer(RelatedNotes(name, related, len(ranked)), message, warnings)


def _note(view: View, reference: str | None) -> Note:
    """The note of the reference, or the active note."""
    vault, state = served_vault(view)
    if reference is not None:
        wanted = only_note(resolved(view, reference), reference, vault).id
        missing = partial(
            NoteNotFound, "Note not found", hint="The note was deleted just now; try another reference."
        )
    elif state.active is not None:
        wanted = state.active.id
        missing = partial(NoteNotFound, "Active note not found", hint="The active note may have been deleted")
    else:
        raise NoActiveNote(NO_ACTIVE_NOTE, hint=OPEN_A_NOTE)
    [found] = vault.ask(Read([wanted]))
    return note_or_error(found, missing=missing)


# -- relations --


class Tie(msgspec.Struct, frozen=True):
    """One signal for another note."""

    to: NoteRef
    kind: Kind
    strength: float
    """From 0 to below 1."""
    reason: Reason


class Tied(msgspec.Struct):
    """Another note with all its signals."""

    to: NoteRef
    score: float = 0.0
    ties: list[Tie] = []


def _all_ties(vault: VaultPort, note: Note, warnings: list[str]) -> list[Tie]:
    outgoing = _outgoing(vault, note)
    incoming = vault.ask(Incoming(note.id, _RELATED_INCOMING_MAX))
    if incoming.total > len(incoming.links):
        warnings.append(f"Of {incoming.total} links to the note {len(incoming.links)} were counted.")
    linking = Counter(link.source for link in incoming.links)
    visits = vault.ask(Visits())
    together = _named(vault, visited_together(visits, note.id))
    following = opened_next(visits, note.id)
    return [
        *_counted("linksTo", outgoing, _LINKS_HALF),
        *_counted("linkedFrom", linking, _LINKS_HALF),
        *_tagged(vault.ask(SharingTags(note.id, _RELATED_LOOKED_AT_MAX))),
        *_counted("visitedTogether", together, _VISITS_HALF),
        *_counted("openedNext", Counter({ref: following[ref.id] for ref in together}), _NEXT_HALF),
        *_similar(vault.ask(Similar(note.id, _RELATED_LOOKED_AT_MAX))),
    ]


def _outgoing(vault: VaultPort, note: Note) -> Counter[NoteRef]:
    """The number of links from the note to each other note."""
    names = [LinkName(link.target, link.wiki) for link in note.markdown.links if link.target]
    targets = vault.ask(LinkTargets(note.id, names)) if names else []
    return Counter(each.note for each in targets if each.note is not None and each.note.id != note.id)


def _named(vault: VaultPort, counts: Counter[NoteId]) -> Counter[NoteRef]:
    """The names of the notes with the greatest counts. Missing notes are left out."""
    most = sorted(counts, key=lambda note: (-counts[note], note))[:_RELATED_LOOKED_AT_MAX]
    names = vault.ask(Names(most)) if most else []
    return Counter({ref: counts[ref.id] for ref in names if ref is not None})


def _counted(kind: Kind, counts: Counter[NoteRef], half: float) -> Iterable[Tie]:
    for ref, count in counts.items():
        if count:
            yield Tie(ref, kind, _saturating(count, half), Reason(kind, count=count))


def _tagged(notes: Sequence[TaggedNote]) -> Iterable[Tie]:
    for each in notes:
        if each.weight > 0:
            reason = Reason("sharedTags", tags=list(each.tags[:_REASON_WORDS_MAX]))
            yield Tie(each.note, "sharedTags", _saturating(each.weight, _TAGS_HALF), reason)


def _similar(notes: Sequence[SimilarNote]) -> Iterable[Tie]:
    best = max((each.score for each in notes), default=0.0)
    for each in notes:
        if each.score > 0:
            strength = each.score / best * _saturating(max(1, len(each.words)), _WORDS_HALF)
            reason = Reason("similarText", words=list(each.words[:_REASON_WORDS_MAX]))
            yield Tie(each.note, "similarText", strength, reason)


def _saturating(amount: float, half: float) -> float:
    """Maps an amount to a strength from 0 to below 1; `half` is mapped to 0.5."""
    return amount / (amount + half)


# -- ranking --


def _ranked(ties: Iterable[Tie], state: VaultState) -> list[Tied]:
    """Every related note once, by score, the greatest first; equal scores by path. Archived notes come last."""
    by_note: dict[NoteId, Tied] = {}
    for tie in ties:
        tied = by_note.get(tie.to.id)
        if tied is None:
            tied = by_note[tie.to.id] = Tied(tie.to)
        tied.ties.append(tie)
    weights = sum(_WEIGHTS.values())
    for tied in by_note.values():
        tied.ties.sort(key=_weighted, reverse=True)  # stable: equal signals stay in the order of kinds
        tied.score = round(sum(map(_weighted, tied.ties)) / weights, _SCORE_DIGITS)
    return sorted(by_note.values(), key=lambda each: (each.to.id in state.archived, -each.score, each.to.path))


def _weighted(tie: Tie) -> float:
    return _WEIGHTS[tie.kind] * tie.strength


def _entry(tied: Tied, state: VaultState, *, names_only: bool) -> RelatedNote:
    return RelatedNote(
        id=tied.to.id,
        title=tied.to.title,
        score=tied.score if not names_only else None,
        reasons=[tie.reason for tie in tied.ties] if not names_only else None,
        archived=tied.to.id in state.archived,
    )


TOOL: Final[Tool[Any]] = Tool(
    name="get_related_notes",
    description="Notes related to one, and why: links, rare tags, visits, similar text.",
    arguments=GetRelatedNotes,
    data=RelatedNotes,
    function=get_related_notes,
    failures=(Suggestions,),
)
