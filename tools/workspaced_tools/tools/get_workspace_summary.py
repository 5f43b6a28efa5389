"""`get_workspace_summary`: the workspace at a glance: how much, what lately, what is left open. No content."""

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
    """A note in one of the lists; which one decides what else it has."""

    id: str
    title: str
    exists: bool
    at: str | None = None
    """When it was last opened, or changed."""
    visits: int | None = None
    dwell_seconds: float | None = None


class OpenQuestion(Model):
    """What may need the user's attention in `note`; the list it is in says what it is."""

    note: str
    title: str
    target: str | None = None
    """Where a link leads, as written."""
    line: int | None = None
    listed_in: list[str] | None = None
    """Where a note without a file is listed."""
    at: str | None = None
    """When an untouched pin was last looked at or pinned."""


class WorkspaceSummary(Model):
    """Mappings by name rather than models: every agent pays for what the list of tools tells of them."""

    counts: dict[str, int]
    index_state: str
    activity: dict[str, list[ListedNote]]
    """`recentlyVisited`, `recentlyChanged`, `mostVisited`."""
    top_tags: dict[str, int] | None = None
    """Tag to the number of notes that have it, the most used first."""
    open_questions: dict[str, list[OpenQuestion]]
    """`brokenLinks`, `ambiguousLinks`, `missingNotes`, `untouchedPins`; `counts` says how many there are."""


def get_workspace_summary(view: View, _arguments: GetWorkspaceSummary) -> Answer:
    """How much there is, what was visited and changed last, what was visited most, tags, and open questions.

    The most visited are those of the last MOST_VISITED_DAYS, as far as visits are remembered. Open questions are
    links in pins and in the active note that lead nowhere or to several notes, listed notes whose file is gone,
    and pins not looked at for UNTOUCHED_DAYS. A client that is shown names only gets no tags, no links and no
    times of files.

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
    counts = {
        "notes": overview.notes,
        **({"links": overview.links} if view.sharing == "all" else {}),
        "pinnedNotes": len(state.pins),
        "temporaryTabs": len(visible_tabs(state, view.now, view.state.clock_steps)),
        "recentNotes": len(state.recents),
        "visits": len(visits),
        "visitedNotes": len(recent),
        **{name: len(found) for name, found in questions.items()},
    }
    lists = Room(SUMMARY_CHARS_MAX)
    data: Json = {
        "counts": counts,
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
    message = f"Notes: {overview.notes}; pinned: {len(state.pins)}; open questions: {open_count}."
    return Answer(data, message, warnings)


def _listed(view: View) -> dict[NoteId, list[str]]:
    """The notes that the user keeps open, each with the lists it is in: the active one, pins, tabs."""
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
    except (ValueError, OverflowError, OSError):  # a file may claim to be of any time
        return None


def _before(view: View, days: int) -> str:
    """The time so many days ago, in the form of an event's time."""
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
    """Links in `sources` that lead nowhere, and those that lead to several notes; each distinct target of a note
    once, with the line where it is first used."""
    broken: list[Json] = []
    ambiguous: list[Json] = []
    for note in vault.ask(Read(sources)):
        if not isinstance(note, Note):
            continue  # it cannot be read, or went in this moment
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
    """Pins with the time when they were last looked at or pinned, if long ago; the longest ago first."""
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
