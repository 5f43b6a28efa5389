"""How tools show notes: one builder for every tool, so that a note looks the same wherever it is met.

What is shown of a note's version is worked out once and kept with the `Note`, which the content cache keeps per
file version: a second call only copies references.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec
from pydantic import Field

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..errors import NoActiveVault, NoteNotFound, NotRecorded, ReadFailed, ReferenceOutsideVault, ToolError
from ..limits import CUSTOM_FIELDS_CHARS_MAX, INCOMING_LINKS_MAX, LISTED_MAX, NOTE_TYPE_CHARS_MAX, TAGS_CHARS_MAX
from ..notes.markdown import word_count
from ..notes.name_keys import fold, stem
from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..notes.properties import tags_of
from ..notes.truncation import truncate
from ..ports.asking import VaultPort
from ..ports.history import SWITCHED_ON
from ..ports.questions import Incoming, IndexState, LinkTargets
from ..ports.vault import LinkName, LinkTarget
from ..ports.view import View
from .tool import Json, Model

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT_CHARS_MAX = 10_000
"""A longer page is not worth the memory beside the cache's own."""

# -- what is published --


class NoteType(Model):
    name: str
    schema_: Any = Field(None, alias="schema")


class Metadata(Model):
    """tools.md, decision 13."""

    tags: list[str]
    custom_fields: dict[str, Any]
    """Front matter that is shown nowhere else."""
    created: str | None
    last_modified: str | None
    word_count: int
    character_count: int
    note_type: NoteType


class NoteName(Model):
    id: str
    title: str
    path: str


class ShownNote(Model):
    """What is shown of a note everywhere."""

    id: str
    title: str
    path: str
    type: str | None = None
    exists: bool
    archived: bool
    metadata: Metadata | None = None
    content: str | None = None
    """The body, without front matter: untrusted text."""
    sha256: str | None = None
    """Of the file's bytes."""


class OutgoingLink(Model):
    target: str
    title: str
    exists: bool
    id: str | None = None
    heading: str | None = None
    alias: str | None = None
    embed: bool
    ambiguous: bool | None = None


class IncomingLink(Model):
    source: str
    title: str
    context: str
    line: int


class Links(Model):
    outgoing: list[OutgoingLink]
    outgoing_total: int
    incoming: list[IncomingLink]
    incoming_total: int


class OutlineHeading(Model):
    level: int
    text: str
    line: int


# -- the vault --


def served_vault(view: View) -> tuple[VaultPort, VaultState]:
    """The current vault and what is folded for it.

    Raises:
        NoActiveVault: none is open, or its folder is not served by this daemon.
    """
    if view.current is None:
        raise NoActiveVault(
            "No vault is open", hint="Open a vault in the editor, or start workspaced with --vault."
        )
    if not view.served:
        raise NoActiveVault(
            f"The vault '{view.current.id}' is not served",
            hint="Start workspaced with this vault's folder, or switch to another vault.",
        )
    return view.vault, view.vault_state


def note_or_error(found: Note | NoteFailure, *, missing: Callable[[], ToolError]) -> Note:
    """The note, or the failure as an error: what `missing` makes where there is no such file.

    It is made when it is raised: an error that a caller's frame holds keeps that frame, and so itself, in memory.

    Raises:
        ToolError: what `missing` makes, ReferenceOutsideVault, NotRecorded or ReadFailed.
    """
    if isinstance(found, Note):
        return found
    if found.code == NoteNotFound.code:
        raise missing()
    if found.code == ReferenceOutsideVault.code:
        raise ReferenceOutsideVault(
            found.message, hint="Links out of the vault are never followed; name another note."
        )
    if found.code == NotRecorded.code:
        raise NotRecorded(found.message.rstrip("."), hint=SWITCHED_ON)
    raise ReadFailed(found.message, hint="Check the file's permissions and kind, then try again.")


# -- one note --


class Facts(msgspec.Struct, frozen=True):
    """What is shown of one version of a note, worked out once."""

    type: str
    metadata: Json
    size: int
    """Characters of the metadata."""
    warnings: tuple[str, ...]


def facts(note: Note) -> Facts:
    """What follows from the note's text; kept with the value like its own cached properties."""
    kept: Facts | None = note.__dict__.get("shown")
    if kept is None:
        kept = note.__dict__["shown"] = _facts(note)
    return kept


def note_entry(note: NoteId, found: Note | NoteFailure, *, archived: bool, metadata: bool) -> Json:
    """The entry of a note in a list, read or not; of one whose name alone is shared, just that."""
    if isinstance(found, NameOnly):
        return {"id": note, "title": found.title, "path": note, "exists": True, "archived": archived}
    if isinstance(found, Note):
        shown = facts(found)
        entry = {
            "id": note,
            "title": found.title,
            "path": note,
            "type": shown.type,
            "exists": True,
            "archived": archived,
        }
        if metadata:
            entry["metadata"] = shown.metadata
        return entry
    exists = found.code in (ReadFailed.code, NotRecorded.code)
    entry = {"id": note, "title": stem(note), "path": note, "exists": exists, "archived": archived}
    if found.code != NoteNotFound.code:
        entry["error"] = found.message
    return entry


def content_of(note: Note, limit: int, offset: int = 0) -> tuple[str, Json]:
    """At most `limit` characters of the body from `offset` on, and the truncation to publish beside them."""
    kept: tuple[int, int, str, Json] | None = note.__dict__.get("content")
    if kept is None or kept[:2] != (limit, offset):
        cut = truncate(note.body, limit, offset)
        shown = {
            "truncated": cut.truncation.truncated,
            "originalLength": cut.truncation.original_length,
            "returnedLength": cut.truncation.returned_length,
            "nextOffset": cut.truncation.next_offset,
        }
        kept = (limit, offset, cut.text, shown)
        if limit <= _KEPT_CHARS_MAX and cut.truncation.truncated:  # a whole body is as quickly made again
            note.__dict__["content"] = kept
    return kept[2], kept[3]


def outline_of(note: Note, warnings: list[str]) -> list[Json]:
    """The headings, in the order of the file."""
    headings = note.markdown.headings
    if len(headings) > LISTED_MAX:
        warnings.append(f"The outline shows the first {LISTED_MAX} of {len(headings)} headings.")
    return [{"level": each.level, "text": each.text, "line": each.line} for each in headings[:LISTED_MAX]]


def links_of(note: Note, vault: VaultPort, warnings: list[str]) -> Json:
    """Links both ways. Targets are distinct, in the order of first use."""
    links = [link for link in note.markdown.links if link.target]
    targets = vault.ask(LinkTargets(note.id, [LinkName(link.target, link.wiki) for link in links]))
    outgoing: dict[tuple[bool, str], Json] = {}
    for link, target in zip(links, targets, strict=True):
        identity = (True, target.note.id) if target.note is not None else (False, fold(link.target))
        if identity not in outgoing:
            outgoing[identity] = _outgoing(link, target)
    incoming = vault.ask(Incoming(note.id, INCOMING_LINKS_MAX))
    if vault.ask(IndexState()) != "ready":
        warnings.append("The index is still being built: links may be incomplete.")
    return {
        "outgoing": list(outgoing.values())[:LISTED_MAX],
        "outgoingTotal": len(outgoing),
        "incoming": [
            {"source": each.source.id, "title": each.source.title, "context": each.context, "line": each.line}
            for each in incoming.links
        ],
        "incomingTotal": incoming.total,
    }


def _outgoing(link: Any, target: LinkTarget) -> Json:
    found = target.note
    entry: Json = {
        "target": link.target,
        "title": found.title if found is not None else link.alias or link.target,
        "exists": found is not None or target.ambiguous,
    }
    if found is not None:
        entry["id"] = found.id
    if link.heading:
        entry["heading"] = link.heading
    if link.alias:
        entry["alias"] = link.alias
    entry["embed"] = link.embed
    if target.ambiguous:
        entry["ambiguous"] = True
    return entry


# -- metadata --


def _facts(note: Note) -> Facts:
    fields = note.fields
    warnings = [f"{note.id}: {each}" for each in note.warnings]
    if note.front_matter.error is not None:
        warnings.append(f"{note.id}: {note.front_matter.error}")
    shown_elsewhere = {"title"} if isinstance(fields.get("title"), str | int | float) else set()
    note_type = _note_type(fields, shown_elsewhere)
    created = _created(note, shown_elsewhere)
    all_tags = _tags(note, shown_elsewhere)
    tags = _within(all_tags, len, TAGS_CHARS_MAX)
    all_custom = [(name, value) for name, value in fields.items() if name not in shown_elsewhere]
    custom = _within(all_custom, lambda each: len(msgspec.json.encode(each)), CUSTOM_FIELDS_CHARS_MAX)
    if len(custom) < len(all_custom):
        warnings.append(
            f"{note.id}: {len(all_custom) - len(custom)} front-matter fields are left out for their size."
        )
    if len(tags) < len(all_tags):
        warnings.append(f"{note.id}: {len(all_tags) - len(tags)} tags are left out.")
    metadata: Json = {
        "tags": tags,
        "customFields": dict(custom),
        "created": created,
        "lastModified": _iso_ns(note.stat.mtime_ns),
        "wordCount": word_count(note.body),
        "characterCount": len(note.body),
        "noteType": note_type,
    }
    size = len(msgspec.json.encode(metadata))
    return Facts(note_type["name"], metadata, size, tuple(warnings))


def _within(items: list[T], size: Callable[[T], int], chars_max: int) -> list[T]:
    """The first of `items` that together stay within `chars_max`."""
    kept, room = [], chars_max
    for each in items:
        room -= size(each)
        if room < 0:
            break
        kept.append(each)
    return kept


def _note_type(fields: Json, shown: set[str]) -> Json:
    """Front matter `type`: a name, or a mapping with `name` and `schema`; else `note`."""
    given = fields.get("type")
    named = given if isinstance(given, dict) else {"name": given}
    name = named.get("name")
    if not isinstance(name, str) or not 0 < len(name.strip()) <= NOTE_TYPE_CHARS_MAX:
        return {"name": "note"}
    shown.add("type")
    return {"name": name.strip(), **({"schema": named["schema"]} if "schema" in named else {})}


def _tags(note: Note, shown: set[str]) -> list[str]:
    """As the index has them; the front matter's field counts as shown where it is one that holds tags."""
    name = "tags" if "tags" in note.fields else "tag"
    if isinstance(note.fields.get(name), str | list):
        shown.add(name)
    return list(tags_of(note.fields, note.tags))


def _created(note: Note, shown: set[str]) -> str | None:
    """Front matter `created` or `date`, else the file's birth time where the system knows it."""
    for name in ("created", "date"):
        given = note.fields.get(name)
        if isinstance(given, str) and (moment := _iso(given)) is not None:
            shown.add(name)
            return moment
    return _iso_ns(note.birth_ns) if note.birth_ns is not None else None


def _iso(text: str) -> str | None:
    """An ISO 8601 date or time as UTC with `Z`; without an offset it is taken for UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _iso_ns(ns: int) -> str | None:
    try:
        return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return None
