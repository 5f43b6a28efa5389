"""`search_workspace`: notes by the words in them."""

import re
import unicodedata
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints

from workspaced_events.ids import NoteId
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_events.projections.workspace_fold import visible_tabs

from ..answers import SearchResult, SearchResults
from ..errors import ArgumentInvalid, ReferenceOutsideVault, SharingOff
from ..limits import (
    ECHO_CHARS_MAX,
    QUERY_CHARS_MAX,
    QUERY_WORDS_MAX,
    RESULTS_CHARS_MAX,
    RESULTS_LISTED_MAX,
    TAG_CHARS_MAX,
)
from ..notes.name_only import NAMES_ONLY
from ..notes.search_query import TextQuery, as_asked, parse
from ..ports.questions import Search
from ..ports.vault import Found, SearchQuery
from ..ports.view import View
from .note_answers import served_vault
from .references import in_vault
from .tool import Answer, Arguments, Tool
from .visit_answers import Room

_SEARCH_TAGS_MAX: Final = 10
_SCORE_DIGITS: Final = 3
_FOREIGN_SYNTAX: Final = re.compile(r"\w[*?]\w|\.[*+]|(?<!\S)(?:AND|NOT)(?!\S)|(?<!\S)/.+/(?!\S)")
"""Wildcards, operators and regular expressions of other searches."""


class SearchWorkspace(Arguments):
    query: str = Field(
        min_length=1, max_length=QUERY_CHARS_MAX, description='Also "exact words", -word, OR, tag:x, path:x.'
    )
    limit: int = Field(10, ge=1, le=RESULTS_LISTED_MAX, description="Notes.")
    scope: Literal["vault", "workspace"] = Field("vault", description="workspace: what is open.")
    tags: list[Annotated[str, StringConstraints(min_length=1, max_length=TAG_CHARS_MAX)]] | None = Field(
        None, max_length=_SEARCH_TAGS_MAX, description="All of them."
    )
    folder: str | None = Field(None, max_length=NOTE_ID_CHARS_MAX, description="Only below this path.")


def search_workspace(view: View, arguments: SearchWorkspace) -> Answer[SearchResults]:
    """The notes that hold everything the query asks for, best first, one entry for each note. Where they are few,
    notes that hold some of it follow.

    For a client that may see only names, only titles and paths are searched, for everything.

    Raises:
        NoActiveVault.
        ArgumentInvalid: the query asks for nothing, or a tag is empty.
        ReferenceOutsideVault: the folder is absolute, has `..` as a component, or NUL.
        SharingOff: the query has tags, and the client may see only names.
    """
    vault, _ = served_vault(view)
    names_only = view.sharing == "names"
    meant = _meant(arguments.query)
    tags = tuple(dict.fromkeys(map(_tag, arguments.tags or ())))
    if names_only and (tags or meant.tags or meant.without_tags):
        raise SharingOff("The user shares no tags with this client", hint="Search again without tags.")
    asked_folder = in_vault(view, arguments.folder) if arguments.folder is not None else None
    folder = _folder(asked_folder) if asked_folder is not None else None
    found = vault.ask(
        Search(
            SearchQuery(
                words=arguments.query,
                limit=arguments.limit,
                among=_workspace(view) if arguments.scope == "workspace" else None,
                tags=tags,
                folder=folder,
                names_only=names_only,
            )
        )
    )
    # `/work` may start at the vault's root or at the host's. Without hits it is taken for a path of the host.
    if folder and not found.total and (asked_folder or "").startswith("/"):
        raise _outside(f"/{folder}", "is absolute", f"Give it from the vault's root, such as {_quoted(folder)}.")
    warnings = [NAMES_ONLY] if names_only else []
    if meant.left_out:
        words = QUERY_WORDS_MAX + meant.left_out
        warnings.append(f"The first {QUERY_WORDS_MAX} of {words} words were looked for.")
    if not found.exact and not meant.is_question:
        warnings.append("Very many notes may hold the words: the total is a lower bound. Give rarer words.")
    return _answer(found, arguments, names_only, warnings)


def _answer(
    found: Found, arguments: SearchWorkspace, names_only: bool, warnings: list[str]
) -> Answer[SearchResults]:
    if found.as_text:
        warnings.append("With operators the query finds nothing: -word, tag: and path: were taken as text.")
    if not found.complete:
        warnings.append("The index is still being built: notes may be missing. Search again shortly.")
    results = Room(RESULTS_CHARS_MAX).fitting(
        SearchResult(
            id=hit.note.id,
            title=hit.note.title,
            line=hit.line,
            snippet="" if names_only else hit.snippet,
            score=round(hit.score, _SCORE_DIGITS),
            heading=hit.heading,
            missing=as_asked(arguments.query, hit.missing) if hit.missing is not None else None,
        )
        for hit in found.hits
    )
    if len(results) < len(found.hits):
        warnings.append(f"The answer is full: {len(found.hits) - len(results)} results are left out.")
    state = "ready" if found.complete else "building"
    complete = found.exact and found.complete
    whole = sum(hit.missing is None for hit in found.hits)
    matched = "all" if whole == len(found.hits) else "some"
    data = SearchResults(results, matched, found.total, complete, state)
    least = "" if found.exact else "at least "
    message = f"{len(results)} of {least}{found.total} notes, best first." if found.hits else _advice(arguments)
    if matched == "some":
        holding = f"{whole} hold" if whole > 1 else "1 holds" if whole else "None holds"
        message += f" {holding} all the words as they are written."
    return Answer(data, message, warnings)


def _advice(arguments: SearchWorkspace) -> str:
    """The next thing to try if there are no hits."""
    narrowed = [
        name
        for name, is_set in (
            ("scope", arguments.scope != "vault"),
            ("tags", arguments.tags),
            ("folder", arguments.folder),
        )
        if is_set
    ]
    if narrowed:
        return f"No note holds all the words there. Search again without {' and '.join(narrowed)}."
    if _FOREIGN_SYNTAX.search(arguments.query):
        return "No note holds that text: wildcards and regular expressions are text here. Try parts of words."
    return "No note holds any of it, nor another form of its words. Try other words."


# -- the arguments --


def _meant(query: str) -> TextQuery:
    """
    Raises:
        ArgumentInvalid: the query asks for nothing.
    """
    meant = parse(query)
    if meant.is_empty:
        raise ArgumentInvalid(
            f"Argument 'query': expected a word, got {_quoted(query)}.",
            hint="Give query as words, such as 'project plan'.",
        )
    return meant


def _tag(text: str) -> str:
    """The tag without a leading `#`.

    Raises:
        ArgumentInvalid: the tag is empty.
    """
    tag = text.strip().removeprefix("#").strip("/")
    if not tag:
        raise ArgumentInvalid(
            f"Argument 'tags': expected tags such as 'project', got {_quoted(text)}.",
            hint="Give each tag by its name, or leave tags out.",
        )
    return tag


def _folder(path: str) -> str | None:
    """The folder as a vault-relative path without slashes at its ends; None: the root itself.

    Raises:
        ReferenceOutsideVault: the path has `..` as a component, or NUL.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    hint = "Give a folder of the vault from its root, without '..', such as 'work/plans'."
    if ".." in parts:
        raise _outside(path, "leads out of the vault", hint)
    if "\0" in path:
        raise _outside(path, "holds a NUL byte", hint)
    return unicodedata.normalize("NFC", "/".join(parts)) or None


def _outside(folder: str, why: str, hint: str) -> ReferenceOutsideVault:
    return ReferenceOutsideVault(f"The folder {_quoted(folder)} {why}.", hint=hint)


def _quoted(text: str) -> str:
    return repr(text[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]


def _workspace(view: View) -> tuple[NoteId, ...]:
    """The notes that the user has open or had open recently."""
    state = view.vault_state
    active = [state.active.id] if state.active is not None else []
    tabs = [tab.note_id for tab in visible_tabs(state, view.now, view.state.clock_steps)]
    return tuple(dict.fromkeys([*active, *state.pins, *tabs, *state.recents]))


TOOL: Final[Tool[Any]] = Tool(
    name="search_workspace",
    description="Notes with all words of a query or question, else the telling ones, best first.",
    arguments=SearchWorkspace,
    data=SearchResults,
    function=search_workspace,
    answers_on_request=True,
)
