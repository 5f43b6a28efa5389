"""`get_workspace_summary`: the workspace at a glance: counts, recent activity and open questions. No content."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from workspaced_events.clock import event_time
from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_fold import visible_tabs

from ..limits import (
    MOST_VISITED_DAYS,
    QUESTIONS_LISTED_MAX,
    SUMMARY_CHARS_MAX,
    SUMMARY_LINKS_PER_NOTE_MAX,
    SUMMARY_LISTED_MAX,
    SUMMARY_SOURCES_MAX,
    UNTOUCHED_DAYS,
)
from ..notes.name_keys import fold
from ..notes.note import Note
from ..ports.asking import VaultPort
from ..ports.questions import IndexState, LinkTargets, Overview, Read, Visits
from ..ports.vault import LinkName, VaultOverview
from ..ports.view import View
from .note_answers import served_vault
from .tool import Answer, Arguments, Json, Model, Tool
from .visit_answers import NoteTitles, Room, latest, tallies


class GetWorkspaceSummary(Arguments):
    pass


class ListedNote(Model):
    """A note in one of the lists. The list decides which optional fields it has."""

    id: str
    title: str
    exists: bool
    at: str | None = None
    """The time of the last visit or change."""
    visits: int | None = None
    dwell_seconds: float | None = None


class OpenQuestion(Model):
    """Something in `note` that may need the user's attention. The list names the kind."""

    note: str
    title: str
    target: str | None = None
    """The target of a link, as the note has it."""
    line: int | None = None
    listed_in: list[str] | None = None
    """The lists that name a note without a file."""
    at: str | None = None
    """The last visit of an untouched pin, or the time of pinning."""


class VaultCounts(Model):
    """Of the whole vault."""

    notes: int
    links: int | None = None


class WorkspaceCounts(Model):
    """Of the user's lists."""

    pinned_count: int
    temporary_tabs_count: int
    recent_notes: int
    missing_notes: int
    """The active note, pins and tabs without a file."""
    untouched_pins: int


class LinkCounts(Model):
    """Of the links in pins and in the active note only, not of the vault."""

    broken_links: int
    ambiguous_links: int


class VisitCounts(Model):
    """Of the remembered visits."""

    visits: int
    visited_notes: int


class Counts(Model):
    """Each name says where the counted things are."""

    in_vault: VaultCounts
    in_workspace: WorkspaceCounts
    in_pins_and_active_note: LinkCounts | None = None
    """Absent while the index is being built, and for a client that may see only names."""
    in_history: VisitCounts


class Activity(Model):
    recently_visited: list[ListedNote]
    recently_changed: list[ListedNote]
    most_visited: list[ListedNote]


class OpenQuestions(Model):
    """`counts` has the number of each."""

    broken_links: list[OpenQuestion] | None = None
    ambiguous_links: list[OpenQuestion] | None = None
    missing_notes: list[OpenQuestion]
    untouched_pins: list[OpenQuestion]


class WorkspaceSummary(Model):
    counts: Counts
    index_state: str
    activity: Activity
    top_tags: dict[str, int] | None = None
    """Maps a tag to the number of notes that have it, the most used first."""
    open_questions: OpenQuestions


def get_workspace_summary(view: View, _arguments: GetWorkspaceSummary) -> Answer:
    """Counts, the notes visited last, changed last and visited most, tags, and open questions.

    The most visited notes are those of the last MOST_VISITED_DAYS, as far as visits are remembered. Open questions
    are links in pins and in the active note that lead nowhere or to several notes, listed notes whose file is
    missing, and pins without a visit for UNTOUCHED_DAYS. A client that may see only names gets no tags, no links
    and no file times.

    Raises:
        NoActiveVault.
    """
    vault, state = served_vault(view)
    visits = vault.ask(Visits())
    overview = vault.ask(Overview(SUMMARY_LISTED_MAX))
    listed = _listed(view)
    recent = latest(visits)
    visited = list(recent.values())[:SUMMARY_LISTED_MAX]
    since = _before(view, MOST_VISITED_DAYS)
    busiest = tallies((visit for visit in visits if visit.at >= since), view.now)[:SUMMARY_LISTED_MAX]
    names = NoteTitles(vault, [*listed, *(visit.note for visit in visited), *(tally.note for tally in busiest)])

    warnings: list[str] = []
    questions = _questions(view, vault, listed, names, recent, warnings)
    lists = Room(SUMMARY_CHARS_MAX)
    data: Json = {
        "counts": {
            "inVault": _vault_counts(view, overview),
            **_workspace_counts(view, questions),
            "inHistory": {"visits": len(visits), "visitedNotes": len(recent)},
        },
        "indexState": vault.ask(IndexState()),
        "activity": {
            "recentlyVisited": lists.fitting({**names.entry(visit.note), "at": visit.at} for visit in visited),
            "recentlyChanged": lists.fitting(_changed(view, overview)),
            "mostVisited": lists.fitting(
                {**names.entry(tally.note), "visits": tally.visits, "dwellSeconds": round(tally.dwell_s, 1)}
                for tally in busiest
            ),
        },
    }
    if view.sharing == "all":
        data["topTags"] = dict(overview.tags)
    asked = Room(SUMMARY_CHARS_MAX)
    data["openQuestions"] = {
        name: asked.fitting(found[:QUESTIONS_LISTED_MAX]) for name, found in questions.items()
    }
    open_count = sum(map(len, questions.values()))
    message = f"Notes in the vault: {overview.notes}; pinned: {len(state.pins)}; open questions: {open_count}."
    return Answer(data, message, warnings)


def _vault_counts(view: View, overview: VaultOverview) -> Json:
    links = {"links": overview.links} if view.sharing == "all" else {}
    return {"notes": overview.notes, **links}


def _workspace_counts(view: View, questions: dict[str, list[Json]]) -> Json:
    """The counts of the user's lists, and of links if they were looked at."""
    state = view.vault_state
    links = {name: len(found) for name, found in questions.items() if name.endswith("Links")}
    return {
        "inWorkspace": {
            "pinnedCount": len(state.pins),
            "temporaryTabsCount": len(visible_tabs(state, view.now, view.state.clock_steps)),
            "recentNotes": len(state.recents),
            **{name: len(found) for name, found in questions.items() if name not in links},
        },
        **({"inPinsAndActiveNote": links} if links else {}),
    }


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


def _changed(view: View, overview: VaultOverview) -> list[Json]:
    entries = []
    for note, mtime_ns in overview.changed:
        entry: Json = {"id": note.id, "title": note.title, "exists": True}
        if view.sharing == "all" and (at := _file_time(mtime_ns)) is not None:
            entry["at"] = at
        entries.append(entry)
    return entries


def _file_time(ns: int) -> str | None:
    try:
        return event_time(ns)
    except (ValueError, OverflowError, OSError):  # a file may have any time
        return None


def _before(view: View, days: int) -> str:
    """The time `days` days ago, in the form of an event's time."""
    moment = datetime.fromisoformat(view.now) - timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# -- open questions --


def _questions(
    view: View,
    vault: VaultPort,
    listed: dict[NoteId, list[str]],
    names: NoteTitles,
    recent: dict[NoteId, Visit],
    warnings: list[str],
) -> dict[str, list[Json]]:
    """All open questions of each kind."""
    missing = [
        {"note": note, "title": names.entry(note)["title"], "listedIn": lists}
        for note, lists in listed.items()
        if not names.exists(note)
    ]
    untouched = [
        {"note": note, "title": names.entry(note)["title"], "at": at}
        for note, at in _untouched(view, recent)
        if names.exists(note)
    ]
    questions = {"missingNotes": missing, "untouchedPins": untouched}
    if view.sharing != "all":
        return questions
    if vault.ask(IndexState()) != "ready":
        warnings.append("The index is still being built: links were not looked at.")
        return questions
    sources = [note for note, lists in listed.items() if lists != ["temporaryTabs"] and names.exists(note)]
    if len(sources) > SUMMARY_SOURCES_MAX:
        warnings.append(f"Links were looked at in {SUMMARY_SOURCES_MAX} of {len(sources)} notes.")
    broken, ambiguous = _open_links(vault, sources[:SUMMARY_SOURCES_MAX], warnings)
    return {"brokenLinks": broken, "ambiguousLinks": ambiguous, **questions}


def _open_links(vault: VaultPort, sources: Sequence[NoteId], warnings: list[str]) -> tuple[list[Json], list[Json]]:
    """The links in `sources` that lead nowhere, and those that lead to several notes.

    Each distinct target of a note is listed once, with the line of its first use.
    """
    broken: list[Json] = []
    ambiguous: list[Json] = []
    for note in vault.ask(Read(sources)):
        if not isinstance(note, Note):
            continue  # the file cannot be read, or was deleted just now
        links = [link for link in note.markdown.links if link.target]
        if len(links) > SUMMARY_LINKS_PER_NOTE_MAX:
            warnings.append(
                f"{note.id}: the first {SUMMARY_LINKS_PER_NOTE_MAX} of {len(links)} links were looked at."
            )
        first = {(link.wiki, fold(link.target)): link for link in reversed(links[:SUMMARY_LINKS_PER_NOTE_MAX])}
        distinct = sorted(first.values(), key=lambda link: link.start)
        targets = vault.ask(LinkTargets(note.id, [LinkName(link.target, link.wiki) for link in distinct]))
        for link, target in zip(distinct, targets, strict=True):
            if target.note is None:
                entry = {"note": note.id, "title": note.title, "target": link.target, "line": link.line}
                (ambiguous if target.ambiguous else broken).append(entry)
    return broken, ambiguous


def _untouched(view: View, recent: dict[NoteId, Visit]) -> list[tuple[NoteId, str]]:
    """The pins without a recent visit, each with the time of its last visit or pinning, the oldest first."""
    state = view.vault_state
    long_ago = _before(view, UNTOUCHED_DAYS)
    found = []
    for pin in state.pins.values():
        visit = recent.get(pin.id)
        seen = (visit.until or view.now) if visit is not None else ""
        at = max(pin.pinned_at, state.recents.get(pin.id, ""), seen)
        is_active = state.active is not None and state.active.id == pin.id
        if at < long_ago and not is_active:
            found.append((pin.id, at))
    return sorted(found, key=lambda each: (each[1], each[0]))


TOOL: Final[Tool[Any]] = Tool(
    name="get_workspace_summary",
    description=(
        "At a glance: counts, notes visited and changed last, most visited, top tags; broken links in pins, "
        "missing files, untouched pins."
    ),
    arguments=GetWorkspaceSummary,
    data=WorkspaceSummary,
    function=get_workspace_summary,
)
