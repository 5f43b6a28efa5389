"""`search_workspace`: notes by the words in them."""

import unicodedata
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints

from workspaced_events.ids import NoteId
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_events.projections.workspace_fold import visible_tabs

from ..errors import ArgumentInvalid, ReferenceOutsideVault, SharingOff
from ..limits import (
    ECHO_CHARS_MAX,
    QUERY_CHARS_MAX,
    QUERY_WORDS_MAX,
    RESULTS_CHARS_MAX,
    RESULTS_LISTED_MAX,
    SEARCH_TAGS_MAX,
    TAG_CHARS_MAX,
)
from ..notes.name_only import NAMES_ONLY
from ..ports.questions import Search
from ..ports.vault import Found, SearchQuery
from ..ports.view import View
from .note_answers import served_vault
from .read_note import name_of
from .tool import Answer, Arguments, Model, Tool
from .visit_answers import Room

_SCORE_DIGITS: Final = 3


class SearchWorkspace(Arguments):
    query: str = Field(min_length=1, max_length=QUERY_CHARS_MAX, description="Words; all must occur.")
    limit: int = Field(10, ge=1, le=RESULTS_LISTED_MAX, description="Notes.")
    scope: Literal["vault", "workspace"] = Field("vault", description="workspace: active, pins, tabs, recents.")
    tags: list[Annotated[str, StringConstraints(min_length=1, max_length=TAG_CHARS_MAX)]] | None = Field(
        None, max_length=SEARCH_TAGS_MAX, description="Only notes with all."
    )
    folder: str | None = Field(None, max_length=NOTE_ID_CHARS_MAX, description="Only notes below this path.")


class SearchResult(Model):
    id: str
    title: str
    path: str
    line: int
    """Of the snippet, in the raw file; 1 where names alone hold the words."""
    snippet: str
    """Untrusted text."""
    score: float
    """Higher is better; to be compared within one answer only."""


class SearchResults(Model):
    results: list[SearchResult]
    total: int
    index_state: str
    """`building`: the text of some notes is not yet known."""


def search_workspace(view: View, arguments: SearchWorkspace) -> Answer:
    """Notes that hold every word of the query, best first; one entry a note.

    A client that is shown names only is answered from titles and paths.

    Raises:
        NoActiveVault.
        ArgumentInvalid: the query holds no letter or digit, or a tag is empty.
        ReferenceOutsideVault: the folder is absolute, has `..` as a component, or NUL.
        SharingOff: tags are asked for where names only are shared.
    """
    vault, _ = served_vault(view)
    names_only = view.sharing == "names"
    words = _words(arguments.query)
    tags = tuple(dict.fromkeys(map(_tag, arguments.tags or ())))
    if tags and names_only:
        raise SharingOff("The user shares no tags with this client", hint="Search again without tags.")
    folder = _folder(arguments.folder) if arguments.folder is not None else None
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
    # `/work` may be meant from the vault's root, or from the host's: the notes found tell.
    if folder and not found.total and (arguments.folder or "").startswith("/"):
        raise _outside(f"/{folder}", "is absolute", f"Give it from the vault's root, such as {_shown(folder)}.")
    warnings = [NAMES_ONLY] if names_only else []
    if len(words) > QUERY_WORDS_MAX:
        warnings.append(f"The first {QUERY_WORDS_MAX} of {len(words)} words were looked for.")
    return _answer(found, arguments, names_only, warnings)


def _answer(found: Found, arguments: SearchWorkspace, names_only: bool, warnings: list[str]) -> Answer:
    if not found.complete:
        warnings.append("The index is still being built: notes may be missing. Search again shortly.")
    results = Room(RESULTS_CHARS_MAX).fitting(
        {
            **name_of(hit.note),
            "line": hit.line,
            "snippet": "" if names_only else hit.snippet,
            "score": round(hit.score, _SCORE_DIGITS),
        }
        for hit in found.hits
    )
    if len(results) < len(found.hits):
        warnings.append(f"The answer is full: {len(found.hits) - len(results)} results are left out.")
    state = "ready" if found.complete else "building"
    data = {"results": results, "total": found.total, "indexState": state}
    message = f"{len(results)} of {found.total} notes, best first." if found.hits else _advice(arguments)
    return Answer(data, message, warnings)


def _advice(arguments: SearchWorkspace) -> str:
    """What to try where nothing was found."""
    narrowed = [
        name
        for name, given in (
            ("scope", arguments.scope != "vault"),
            ("tags", arguments.tags),
            ("folder", arguments.folder),
        )
        if given
    ]
    if narrowed:
        return f"No note holds all the words there. Search again without {' and '.join(narrowed)}."
    if len(_words(arguments.query)) > 1:
        return "No note holds all the words. Try fewer of them: every word must occur, whole."
    return "No note holds the word. Try another form of it: words are matched whole."


# -- the arguments --


def _words(query: str) -> list[str]:
    """The distinct words of the query.

    Raises:
        ArgumentInvalid: there are none.
    """
    words = dict.fromkeys(word for word in query.replace("\0", " ").split() if any(map(str.isalnum, word)))
    if not words:
        raise ArgumentInvalid(
            f"Argument 'query': expected a letter or digit, got {_shown(query)}.",
            hint="Give query as words, such as 'project plan'.",
        )
    return list(words)


def _tag(given: str) -> str:
    """The tag without a leading `#`.

    Raises:
        ArgumentInvalid: nothing is left.
    """
    tag = given.strip().removeprefix("#").strip("/")
    if not tag:
        raise ArgumentInvalid(
            f"Argument 'tags': expected tags such as 'project', got {_shown(given)}.",
            hint="Give each tag by its name, or leave tags out.",
        )
    return tag


def _folder(given: str) -> str | None:
    """The folder from the vault's root, without slashes at its ends; None: the root itself.

    Raises:
        ReferenceOutsideVault: it has `..` as a component, or NUL.
    """
    parts = [part for part in given.split("/") if part not in ("", ".")]
    hint = "Give a folder of the vault from its root, without '..', such as 'work/plans'."
    if ".." in parts:
        raise _outside(given, "leads out of the vault", hint)
    if "\0" in given:
        raise _outside(given, "holds a NUL byte", hint)
    return unicodedata.normalize("NFC", "/".join(parts)) or None


def _outside(folder: str, why: str, hint: str) -> ReferenceOutsideVault:
    return ReferenceOutsideVault(f"The folder {_shown(folder)} {why}.", hint=hint)


def _shown(given: str) -> str:
    return repr(given[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]


def _workspace(view: View) -> tuple[NoteId, ...]:
    """The notes the user has open or had open lately."""
    state = view.vault_state
    active = [state.active.id] if state.active is not None else []
    tabs = [tab.note_id for tab in visible_tabs(state, view.now, view.state.clock_steps)]
    return tuple(dict.fromkeys([*active, *state.pins, *tabs, *state.recents]))


TOOL: Final[Tool[Any]] = Tool(
    name="search_workspace",
    description="Notes that hold all the words, best first, with the line.",
    arguments=SearchWorkspace,
    data=SearchResults,
    function=search_workspace,
)
