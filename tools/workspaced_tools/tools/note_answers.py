"""Builds the entries of notes in answers. All tools use it, so that a note looks the same in every answer.

The entry of a note version is computed once and cached in the `Note`, which the content cache keeps per file
version. A second call only copies references.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, is_markdown
from workspaced_events.projections.workspace_state import VaultState

from ..answers import IncomingLink, Links, Metadata, NoteEntry, NoteType, OutgoingLink, OutlineHeading, Truncation
from ..code.languages import grammar_of, language_of
from ..errors import (
    BinaryFile,
    FileTooLarge,
    NoActiveVault,
    NotDownloaded,
    NoteNotFound,
    NotRecorded,
    ReadFailed,
    ReferenceOutsideVault,
    SymlinkNotFollowed,
    ToolError,
)
from ..limits import HEADINGS_PER_NOTE_MAX, LINKS_PER_NOTE_MAX, LISTED_MAX, TAGS_PER_NOTE_MAX
from ..notes.formats.kinds import kind_of
from ..notes.markdown import Link, word_count
from ..notes.name_keys import stem
from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..notes.properties import named, scalar_text, tags_of
from ..notes.sections import Section
from ..notes.truncation import truncate
from ..ports.asking import VaultPort
from ..ports.history import SWITCHED_ON
from ..ports.questions import Incoming, IndexState, LinkTargets, Outline
from ..ports.vault import LinkTarget
from ..ports.view import View
from .tool import Json

_NOTE_TYPE_CHARS_MAX: Final = 100
_TAGS_CHARS_MAX: Final = 4_000
_CUSTOM_FIELDS_CHARS_MAX: Final = 8_000
_INCOMING_LINKS_MAX: Final = 100
T = TypeVar("T")
N = TypeVar("N", bound=NoteEntry)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_ACTIVE_NOTE: Final = "No note currently active"
OPEN_A_NOTE: Final = "Open a note to use this tool."
"""The error without an active note, and with a private one: no client learns that a private note is active."""
_CACHED_CHARS_MAX = 10_000
"""A longer page is not cached: it would take too much memory beside the content cache."""

# -- the vault --


def served_vault(view: View) -> tuple[VaultPort, VaultState]:
    """The current vault and its state.

    Raises:
        NoActiveVault: no vault is open, or this daemon does not serve its folder.
    """
    if view.current is None:
        raise NoActiveVault(
            "No vault is open",
            hint="Ask the user for `workspaced stop`, then `workspaced start DIR` with the notes' folder.",
        )
    if not view.served:
        raise NoActiveVault(
            f"The vault '{view.current.id}' is not served",
            hint="Ask the user for `workspaced stop`, then `workspaced start DIR` with that folder.",
        )
    return view.vault, view.vault_state


def index_state(vault: VaultPort) -> str:
    """Whether the index is `ready`, or `building`."""
    return "ready" if vault.ask(IndexState()) == "ready" else "building"  # the very default, which is left out


_UNREADABLE: Final = (ReadFailed, "Check the file's permissions and kind, then try again.")
_FAILURES: Final[dict[str, tuple[type[ToolError], str]]] = {
    ReferenceOutsideVault.code: (ReferenceOutsideVault, "Name a note of the vault by its path."),
    SymlinkNotFollowed.code: (SymlinkNotFollowed, "Name the note by the path of its own file."),
    NotDownloaded.code: (NotDownloaded, NotDownloaded.what_to_do),
    BinaryFile.code: (BinaryFile, "Only its name and path are known; ask for a text file."),
    FileTooLarge.code: (FileTooLarge, "Only its name and path are known; ask for a smaller file."),
    NotRecorded.code: (NotRecorded, SWITCHED_ON),
}
"""The errors for the codes of failed reads, with what to do."""


def note_or_error(found: Note | NoteFailure, *, missing: Callable[[], ToolError]) -> Note:
    """Returns the note, or raises the failure.

    Args:
        missing: creates the error for a missing file. It is a function because an error that a caller's frame
            holds keeps that frame, and so itself, in memory.

    Raises:
        ToolError: the error of `missing`, one of _FAILURES, or ReadFailed.
    """
    if isinstance(found, Note):
        return found
    if found.code == NoteNotFound.code:
        raise missing()
    kind, hint = _FAILURES.get(found.code, _UNREADABLE)
    raise kind(found.message.rstrip(".") if kind is NotRecorded else found.message, hint=hint)


# -- one note --


class Facts(msgspec.Struct, frozen=True):
    """The computed parts of a note version's entry."""

    type: str
    metadata: Metadata
    size: int
    """Characters of the metadata."""
    warnings: tuple[str, ...]


def facts(note: Note) -> Facts:
    """The facts of a note version, cached in the note as `shown`.

    The content cache drops the value when the file's stat changes.
    """
    cached: Facts | None = note.__dict__.get("shown")
    if cached is None:
        cached = note.__dict__["shown"] = _facts(note)
    return cached


def note_entry(
    made: Callable[..., N], note: NoteId, found: Note | NoteFailure, *, archived: bool, metadata: bool
) -> N:
    """The entry of a note or of a failed read, as `made` makes it of the fields of `NoteEntry`; only names for a
    client that may see only names."""
    if isinstance(found, NameOnly):
        return made(id=note, title=found.title, archived=archived)
    if isinstance(found, Note):
        shown = facts(found)
        entry = made(
            id=note,
            title=found.title,
            type=shown.type,
            archived=archived,
            metadata=shown.metadata if metadata else None,
        )
        if not is_markdown(note):
            kind = kind_of(note)
            entry.kind, entry.size, entry.pages = "text" if kind == "file" else kind, found.stat.size, found.pages
            entry.language = language_of(note) if not found.is_markdown else None
        return entry
    exists = found.code not in (NoteNotFound.code, ReferenceOutsideVault.code)
    entry = made(id=note, title=stem(note), exists=exists, archived=archived)
    if found.size is not None:
        entry.kind, entry.size = kind_of(note), found.size
    return entry


def content_of(note: Note, limit: int, offset: int = 0) -> tuple[str, Truncation]:
    """At most `limit` characters of the body from `offset` on, and the `truncation` of the answer."""
    cached: tuple[int, int, str, Truncation] | None = note.__dict__.get("content")
    if cached is None or cached[:2] != (limit, offset):
        cut = truncate(note.body, limit, offset)
        cached = (limit, offset, cut.text, cut.truncation)
        if limit <= _CACHED_CHARS_MAX and cut.truncation.truncated:  # a whole body needs no cutting
            note.__dict__["content"] = cached
    return cached[2], cached[3]


def _left_out(note: Note) -> list[str]:
    if note.markdown.complete:
        return []
    return [
        f"{note.id}: only the first {HEADINGS_PER_NOTE_MAX} headings, {LINKS_PER_NOTE_MAX} links and "
        f"{TAGS_PER_NOTE_MAX} tags of a note are read; its text is whole."
    ]


def outline_of(note: Note, warnings: list[str]) -> list[OutlineHeading]:
    """The headings, in the order of the file."""
    headings = note.markdown.headings
    warnings.extend(_left_out(note))
    if len(headings) > LISTED_MAX:
        warnings.append(f"The outline shows the first {LISTED_MAX} of {len(headings)} headings.")
    return [OutlineHeading(each.level, each.text, each.line) for each in headings[:LISTED_MAX]]


_NO_OUTLINE: Final = {
    "language": "There is no outline for this language.",
    "extra": "There is no outline of code here: the user can install a parser beside the daemon (pip install {}).",
    "large": "The file is too large for an outline.",
    "failed": "The file could not be parsed in time, so it has no outline.",
}


def outline_of_code(note: Note, vault: VaultPort, warnings: list[str]) -> list[OutlineHeading]:
    """The definitions of a note that is no Markdown, in the order of the file."""
    found = vault.ask(Outline(note.id))
    if found.missing is not None:
        grammar = grammar_of(note.id)
        warnings.append(_NO_OUTLINE[found.missing].format(" ".join(grammar.packages) if grammar else ""))
    if len(found.symbols) > LISTED_MAX:
        warnings.append(f"The outline shows the first {LISTED_MAX} of {len(found.symbols)} definitions.")
    return [OutlineHeading(each.level, each.name, each.line, each.kind) for each in found.symbols[:LISTED_MAX]]


def part_of(note: Note, part: Section, limit: int, offset: int) -> tuple[str, Truncation]:
    """As `content_of`, of one part of the body: offsets count from the body, and the last page ends with the part.

    An `offset` before the part begins at the part.
    """
    offset = max(offset, part.start)
    cut = truncate(note.body[: part.end], limit, offset)
    return cut.text, replace(cut.truncation, original_length=part.end - part.start)


def links_of(note: Note | NoteFailure, vault: VaultPort, warnings: list[str]) -> tuple[Links, bool]:
    """Every link both ways, in the order of the text, and whether the index was ready for it."""
    ready = vault.ask(IndexState()) == "ready"
    links: list[Link] = []
    if isinstance(note, Note):
        warnings.extend(_left_out(note))
        links = [link for link in note.markdown.links if link.target]
    targets = vault.ask(LinkTargets(note.id, [link.target for link in links]))
    pairs = list(zip(links, targets, strict=True))
    incoming = vault.ask(Incoming(note.id, _INCOMING_LINKS_MAX))
    if not incoming.complete:
        warnings.append(f"Some notes have more than {LINKS_PER_NOTE_MAX} links: links from them may be missing.")
    shown = Links(
        outgoing=[_outgoing(link, target) for link, target in pairs[:LISTED_MAX]],
        outgoing_total=len(pairs),
        incoming=[
            IncomingLink(each.source.id, each.source.title, each.context, each.line, each.heading or None)
            for each in incoming.links
        ],
        incoming_total=incoming.total,
    )
    return shown, ready


def _outgoing(link: Link, target: LinkTarget) -> OutgoingLink:
    found = target.note
    return OutgoingLink(
        target=link.target,
        title=found.title if found is not None else link.alias or link.target,
        exists=found is not None or target.ambiguous,
        line=link.line,
        id=found.id if found is not None else None,
        heading=link.heading or None,
        block=link.block or None,
        alias=link.alias or None,
        embed=link.embed,
        property=link.key,
        ambiguous=target.ambiguous or None,
    )


# -- metadata --


def _facts(note: Note) -> Facts:
    fields = note.fields
    warnings = [f"{note.id}: {each}" for each in note.warnings]
    if note.front_matter.problem is not None:
        warnings.append(f"{note.id}: {note.front_matter.problem}")
    title = named(fields, "title")
    shown_elsewhere = {title[0]} if title is not None and scalar_text(title[1]) is not None else set()
    note_type = _note_type(fields, shown_elsewhere)
    created = _created(note, shown_elsewhere)
    # The same tags as in the index.
    found = named(note.fields, "tags", "tag")
    if found is not None and isinstance(found[1], str | list):
        shown_elsewhere.add(found[0])
    all_tags = list(tags_of(note.fields, note.tags))
    tags = _within(all_tags, len, _TAGS_CHARS_MAX)
    all_custom = [(name, value) for name, value in fields.items() if name not in shown_elsewhere]
    custom = _within(all_custom, lambda each: len(msgspec.json.encode(each)), _CUSTOM_FIELDS_CHARS_MAX)
    if len(custom) < len(all_custom):
        warnings.append(
            f"{note.id}: {len(all_custom) - len(custom)} front-matter fields are left out for their size."
        )
    if len(tags) < len(all_tags):
        warnings.append(f"{note.id}: {len(all_tags) - len(tags)} tags are left out.")
    metadata = Metadata(
        tags=tags,
        custom_fields=dict(custom),
        created=created,
        last_modified=file_time(note.stat.mtime_ns),
        word_count=word_count(note.body),
        character_count=len(note.body),
        note_type=note_type if note_type.schema is not msgspec.UNSET else None,
    )
    size = len(msgspec.json.encode(metadata))
    type_ = "note" if note_type.name == "note" else note_type.name  # the very default, which is left out
    return Facts(type_, metadata, size, tuple(warnings))


def _within(items: list[T], size: Callable[[T], int], chars_max: int) -> list[T]:
    """The first items whose sizes together are at most `chars_max`."""
    kept, room = [], chars_max
    for each in items:
        room -= size(each)
        if room < 0:
            break
        kept.append(each)
    return kept


def _note_type(fields: Json, shown: set[str]) -> NoteType:
    """The front-matter field `type`, a name or a mapping with `name` and `schema`; otherwise `note`."""
    found = named(fields, "type")
    if found is None:
        return NoteType("note")
    written, value = found
    parts = value if isinstance(value, dict) else {"name": value}
    name = parts.get("name")
    if not isinstance(name, str) or not 0 < len(name.strip()) <= _NOTE_TYPE_CHARS_MAX:
        return NoteType("note")
    shown.add(written)
    return NoteType(name.strip(), parts.get("schema", msgspec.UNSET))


def _created(note: Note, shown: set[str]) -> str | None:
    """The front-matter field `created` or `date`, otherwise the file's birth time if the system has it."""
    for name in ("created", "date"):
        found = named(note.fields, name)
        if found is not None and isinstance(found[1], str) and (moment := _iso(found[1])) is not None:
            shown.add(found[0])
            return moment
    return file_time(note.birth_ns) if note.birth_ns is not None else None


def _iso(text: str) -> str | None:
    """An ISO 8601 date or time as UTC with `Z`. A time without offset counts as UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return to_second(moment.isoformat())


def file_time(ns: int) -> str | None:
    """The time of a file (nanoseconds since the epoch) as answers have it; None if no calendar has it."""
    try:
        return to_second((_EPOCH + timedelta(microseconds=ns // 1000)).isoformat())
    except OverflowError:
        return None


def to_second(time: str) -> str:
    """A UTC time in ISO 8601 as answers have it: an agent pays for each digit."""
    return f"{time[:19]}Z"
