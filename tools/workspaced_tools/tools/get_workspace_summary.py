"""`get_workspace_summary`: the workspace at a glance: counts, recent activity and open questions. No content."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_fold import visible_tabs

from ..answers import (
    Activity,
    Counts,
    LinkCounts,
    ListedNote,
    OpenQuestion,
    OpenQuestions,
    VaultCounts,
    VisitCounts,
    WorkspaceCounts,
    WorkspaceSummary,
)
from ..notes.name_keys import without_case
from ..notes.note import Note
from ..ports.asking import VaultPort
from ..ports.questions import IndexState, LinkTargets, Overview, Read, Visits
from ..ports.vault import VaultOverview
from ..ports.view import View
from .note_answers import file_time, index_state, served_vault, to_second
from .tool import Answer, Arguments, Tool
from .visit_answers import NoteTitles, Room, latest, tallies

_MOST_VISITED_DAYS: Final = 30
_SUMMARY_LINKS_PER_NOTE_MAX: Final = 2_000
_SUMMARY_SOURCES_MAX: Final = 50
"""Notes whose links are checked."""
_QUESTIONS_LISTED_MAX: Final = 20
"""Open questions of each kind."""
_SUMMARY_LISTED_MAX: Final = 10
"""Notes or tags in each list."""
_SUMMARY_CHARS_MAX: Final = 20_000
"""The lists of notes as JSON, and the same again for open questions. Tags and warnings are extra."""


class GetWorkspaceSummary(Arguments):
    pass


def get_workspace_summary(view: View, _arguments: GetWorkspaceSummary) -> Answer[WorkspaceSummary]:
    """Counts, the notes visited last, changed last and visited most, tags, and open questions.

    The most visited notes are those of the last _MOST_VISITED_DAYS, as far as these are remembered. Open questions
    are links in pins and in the active note that lead nowhere or to several notes, and listed notes whose file is
    missing. A client that may see only names gets no tags, no links and no file times.

    Raises:
        NoActiveVault.
    """
    vault, state = served_vault(view)
    visits = vault.ask(Visits())
    overview = vault.ask(Overview(_SUMMARY_LISTED_MAX))
    listed = _listed(view)
    recent = latest(visits)
    visited = list(recent.values())[:_SUMMARY_LISTED_MAX]
    since = _before(view, _MOST_VISITED_DAYS)
    busiest = tallies((visit for visit in visits if visit.at >= since), view.now)[:_SUMMARY_LISTED_MAX]
    names = NoteTitles(vault, [*listed, *(visit.note for visit in visited), *(tally.note for tally in busiest)])

    warnings: list[str] = []
    questions = _questions(view, vault, listed, names, warnings)
    lists = Room(_SUMMARY_CHARS_MAX)
    activity = Activity(
        recently_visited=lists.fitting(
            ListedNote(**names.entry(visit.note), at=to_second(visit.at)) for visit in visited
        ),
        recently_changed=lists.fitting(_changed(view, overview)),
        most_visited=lists.fitting(
            ListedNote(**names.entry(tally.note), visits=tally.visits, dwell_seconds=round(tally.dwell_s, 1))
            for tally in busiest
        ),
    )
    asked = Room(_SUMMARY_CHARS_MAX)
    data = WorkspaceSummary(
        counts=_counts(view, overview, questions, VisitCounts(len(visits), len(recent))),
        index_state=index_state(vault),
        activity=activity,
        top_tags=dict(overview.tags) if view.sharing == "all" else {},
        open_questions=OpenQuestions(
            **{name: asked.fitting(found[:_QUESTIONS_LISTED_MAX]) for name, found in questions.items()}
        ),
    )
    open_count = sum(map(len, questions.values()))
    message = f"Notes in the vault: {overview.notes}; pinned: {len(state.pins)}; open questions: {open_count}."
    return Answer(data, message, warnings)


def _counts(
    view: View, overview: VaultOverview, questions: dict[str, list[OpenQuestion]], visits: VisitCounts
) -> Counts:
    """The counts; those of links only if they were looked at."""
    state = view.vault_state
    count = {name: len(found) for name, found in questions.items()}
    links = {name: count.pop(name) for name in ("broken_links", "ambiguous_links") if name in count}
    return Counts(
        in_vault=VaultCounts(overview.notes, overview.links if view.sharing == "all" else None),
        in_workspace=WorkspaceCounts(
            pinned_count=len(state.pins),
            temporary_tabs_count=len(visible_tabs(state, view.now, view.state.clock_steps)),
            recent_notes=len(state.recents),
            **count,
        ),
        in_pins_and_active_note=LinkCounts(**links) if links else None,
        in_history=visits,
    )


def _listed(view: View) -> dict[NoteId, list[str]]:
    """The active note, pins and tabs, each with the names of its lists."""
    state = view.vault_state
    lists: dict[str, list[NoteId]] = {
        "activeNote": [state.active.id] if state.active is not None else [],
        "pinnedNotes": list(state.pins),
        "temporaryTabs": [tab.note_id for tab in visible_tabs(state, view.now, view.state.clock_steps)],
    }
    found: dict[NoteId, list[str]] = {}
    for name, notes in lists.items():
        for note in notes:
            found.setdefault(note, []).append(name)
    return found


def _changed(view: View, overview: VaultOverview) -> list[ListedNote]:
    return [
        ListedNote(note.id, note.title, True, at=file_time(mtime_ns) if view.sharing == "all" else None)
        for note, mtime_ns in overview.changed
    ]


def _before(view: View, days: int) -> str:
    """The time `days` days ago, in the form of an event's time."""
    moment = datetime.fromisoformat(view.now) - timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# -- open questions --


def _questions(
    view: View, vault: VaultPort, listed: dict[NoteId, list[str]], names: NoteTitles, warnings: list[str]
) -> dict[str, list[OpenQuestion]]:
    """All open questions of each kind, by the fields of `OpenQuestions`."""
    missing = [
        OpenQuestion(note, names.title(note), listed_in=lists)
        for note, lists in listed.items()
        if not names.exists(note)
    ]
    questions = {"missing_notes": missing}
    if view.sharing != "all":
        return questions
    if vault.ask(IndexState()) != "ready":
        warnings.append("The index is still being built: links were not looked at.")
        return questions
    sources = [note for note, lists in listed.items() if lists != ["temporaryTabs"] and names.exists(note)]
    if len(sources) > _SUMMARY_SOURCES_MAX:
        warnings.append(f"Links were looked at in {_SUMMARY_SOURCES_MAX} of {len(sources)} notes.")
    broken, ambiguous = _open_links(vault, sources[:_SUMMARY_SOURCES_MAX], warnings)
    return {"broken_links": broken, "ambiguous_links": ambiguous, **questions}


def _open_links(
    vault: VaultPort, sources: Sequence[NoteId], warnings: list[str]
) -> tuple[list[OpenQuestion], list[OpenQuestion]]:
    """The links in `sources` that lead nowhere, and those that lead to several notes.

    Each distinct target of a note is listed once, with the line of its first use.
    """
    broken: list[OpenQuestion] = []
    ambiguous: list[OpenQuestion] = []
    for note in vault.ask(Read(sources)):
        if not isinstance(note, Note):
            continue  # the file cannot be read, or was deleted just now
        links = [link for link in note.markdown.links if link.target]
        if len(links) > _SUMMARY_LINKS_PER_NOTE_MAX:
            warnings.append(
                f"{note.id}: the first {_SUMMARY_LINKS_PER_NOTE_MAX} of {len(links)} links were looked at."
            )
        first = {without_case(link.target): link for link in reversed(links[:_SUMMARY_LINKS_PER_NOTE_MAX])}
        distinct = sorted(first.values(), key=lambda link: link.start)
        targets = vault.ask(LinkTargets(note.id, [link.target for link in distinct]))
        for link, target in zip(distinct, targets, strict=True):
            if target.note is None:
                entry = OpenQuestion(note.id, note.title, link.target, link.line)
                (ambiguous if target.ambiguous else broken).append(entry)
    return broken, ambiguous


TOOL: Final[Tool[Any]] = Tool(
    name="get_workspace_summary",
    description=(
        "Counts, notes visited and changed last, most visited, top tags; broken links in pins, missing files."
    ),
    arguments=GetWorkspaceSummary,
    data=WorkspaceSummary,
    function=get_workspace_summary,
)
