"""The resolver: finds the note that an agent's reference means.

A reference passes through STAGES in their order and stops at the first stage with a hit. In that stage, notes that
are not archived win over archived ones, and several hits make the reference ambiguous. Nothing is ever guessed.

Separators are ambiguous, since titles and file names may contain `#`, `^` and `|`. So the longest name comes
first: `C# notes#Setup` means the note of that name, else `C# notes` at its heading `Setup`, else `C`. Links in
notes have a rule of their own first: see `link_targets`, also for a reference given with the note
that it stands in.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, OutsideVault
from workspaced_events.ids import NoteId, note_id
from workspaced_events.projections.workspace_state import VaultState

from ...errors import ArgumentInvalid, ReferenceOutsideVault
from ...limits import CANDIDATES_MAX, ECHO_CHARS_MAX, NEAR_TITLES_MAX, SEPARATORS_MAX
from ...notes.name_keys import key, stem, without_case, without_ending
from ...ports.vault import NoteRef, Resolution
from ..index.entries import NamedNote, target_keys
from ..index.index import Index

_SEPARATOR = re.compile(r"[#|]|\^(?=[A-Za-z0-9-]+$)")


class Lookup(Protocol):
    """The resolver's access to notes."""

    @property
    def paths_by_name(self) -> bool:
        """Whether `named` gives every note that `at_path` gives, so that no path needs a look-up of its own."""
        ...

    def at_path(self, path: NoteId) -> NoteRef | None:
        """The note at exactly this path.

        Raises:
            SymlinkNotFollowed: the path is a symlink, or leads through one.
        """
        ...

    def named(self, name_key: str) -> Sequence[NamedNote]:
        """See `Index.named`."""
        ...

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        """See `Index.near`."""
        ...


class IndexLookup:
    """Implements `Lookup` with an index, for one call; remembers each result. Reads no note's file."""

    paths_by_name: Final = True

    def __init__(
        self,
        index: Index,
        is_withheld: Callable[[NoteId], bool] = lambda _note: False,
        files: Callable[[str], Sequence[NamedNote]] = lambda _name_key: (),
        notes: Sequence[NamedNote] = (),
    ) -> None:
        """
        Args:
            is_withheld: hides notes that the index may not know as withheld yet.
            files: gives the files with a name that are no notes.
            notes: found beside those of the index, which it may withhold or not know.
        """
        self.index: Final = index
        self.is_withheld: Final = is_withheld
        self._files: Final = files
        self._notes = {note.id: note for note in notes}
        self._named: dict[str, list[NamedNote]] = {}
        self._at: dict[NoteId, NoteRef | None] = {}

    def at_path(self, path: NoteId) -> NoteRef | None:
        if path in self._notes:
            return self._notes[path].ref
        if path not in self._at:
            entry = self.index.entry(path)
            shown = entry is not None and not entry.withheld and not self.is_withheld(path)
            files = self._files(key(stem(path))) if entry is None else ()
            file = next((each.ref for each in files if each.id == path), None)
            self._at[path] = entry.ref if entry is not None and shown else file
        return self._at[path]

    def named(self, name_key: str) -> list[NamedNote]:
        found = self._named.get(name_key)
        if found is None:
            notes = [entry for entry in self.index.named(name_key) if not self.is_withheld(entry.id)]
            found = [each for each in (*notes, *self._files(name_key)) if each.id not in self._notes]
            found += [each for each in self._notes.values() if name_key in each.name_keys()]
            self._named[name_key] = found
        return found

    def near(self, name: str, limit: int) -> list[NamedNote]:
        return [entry for entry in self.index.near(name, limit) if not self.is_withheld(entry.id)]


class Reading(NamedTuple):
    """One way to read a reference."""

    name: str
    heading: str | None = None
    block: str | None = None


class Wanted(NamedTuple):
    """A name in the forms that the stages compare."""

    name: str
    without_case: str
    path: str
    """The name without `.md`, with a leading slash; a matching path ends with it."""
    path_without_case: str

    @classmethod
    def of(cls, name: str) -> "Wanted":
        path = f"/{without_ending(name)}"
        return cls(name, without_case(name), path, without_case(path))


_Matches = Callable[[NamedNote, Wanted], bool]


def ends_with(entry: NamedNote, wanted: Wanted) -> bool:
    path = without_ending(entry.id)
    return path.endswith(wanted.path) or path == wanted.path[1:]


def ends_with_path(entry: NamedNote, wanted: Wanted) -> bool:
    path = without_case(without_ending(entry.id))
    return path.endswith(wanted.path_without_case) or path == wanted.path_without_case[1:]


# The stages that use the index, after the exact path and before former paths. The exact case wins.
# A file's own name or path comes before an alias: an alias of one note may be another note's path.
_STAGES: Final[tuple[tuple[str, _Matches], ...]] = (
    ("id", lambda entry, wanted: entry.front_matter_id == wanted.name),
    ("filename", lambda entry, wanted: "/" not in wanted.name and ends_with(entry, wanted)),
    ("title", lambda entry, wanted: entry.title == wanted.name),
    ("filename", lambda entry, wanted: "/" not in wanted.name and ends_with_path(entry, wanted)),
    ("pathSuffix", ends_with),
    ("pathSuffix", ends_with_path),
    ("alias", lambda entry, wanted: wanted.name in entry.aliases),
    ("foldedTitle", lambda entry, wanted: without_case(entry.title) == wanted.without_case),
    ("foldedAlias", lambda entry, wanted: wanted.without_case in map(without_case, entry.aliases)),
)
STAGES: Final = ("path", *dict.fromkeys(stage for stage, _ in _STAGES), "formerPath")


def resolve(reference: str, lookup: Lookup, state: VaultState) -> Resolution:
    """Resolves an agent's `reference`. `complete` says whether the result does not depend on the index.

    Raises:
        ReferenceOutsideVault: absolute, with `..` as a component, or with NUL.
        SymlinkNotFollowed: it is the path of a symlink, or leads through one.
        ArgumentInvalid: empty after trimming, or not valid Unicode.
    """
    ways = readings(reference)
    for way in ways:
        found = resolve_reading(way, lookup, state)
        if found is not None:
            return replace(found, complete=way is ways[0] and found.resolved_by == "path")
    return without_hit(ways, lookup)


def without_hit(ways: Sequence[Reading], lookup: Lookup) -> Resolution:
    """The result for a reference that means no note: notes with near titles."""
    last = ways[-1]
    near = lookup.near(stem(last.name) or ways[0].name, NEAR_TITLES_MAX)
    refs = tuple(entry.ref for entry in near)
    return Resolution(near=refs, heading=last.heading, block=last.block, complete=False)


# -- reading a reference --


def readings(reference: str) -> list[Reading]:
    """The ways to read `reference`, the longest name first; the last is the plain one.

    Raises: as `resolve`.
    """
    ways = named_readings(unwrapped(reference), reference)
    plain = ways[-1].name
    if plain.startswith("/") or ".." in plain.split("/"):
        raise leads_out(reference)
    return ways


def named_readings(text: str, reference: str) -> list[Reading]:
    """As `readings`, of a reference that is unwrapped, without the check that it stays in the vault.

    Raises:
        ArgumentInvalid: it names no note.
    """
    cuts = [match.start() for match in _SEPARATOR.finditer(text)][:SEPARATORS_MAX]
    ways = [Reading(text), *(reading_cut_at(text, at) for at in reversed(cuts))]
    ways = [way for way in ways if way.name]
    if not ways:
        raise ArgumentInvalid(
            f"The reference {shown(reference)} names no note.",
            hint="Give a path such as 'work/plan.md', a title, an alias or a file name.",
        )
    return ways


def leads_out(reference: str, argument: str = "reference") -> ReferenceOutsideVault:
    """The error of an `argument` that leads out of the vault."""
    return ReferenceOutsideVault(
        f"The {argument} {shown(reference)} leads out of the vault.",
        hint="Give a path relative to the vault's root, without '..', such as 'work/plan.md'.",
    )


def unwrapped(reference: str, argument: str = "reference") -> str:
    """The trimmed reference without `[[` `]]` and the alias inside them.

    Raises:
        ReferenceOutsideVault: it holds NUL.
        ArgumentInvalid: it is not valid Unicode.
    """
    text = reference.strip()
    if "\0" in text:
        raise ReferenceOutsideVault(
            f"The {argument} {shown(reference)} holds a NUL byte.", hint="Give a path, a title or a file name."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentInvalid(
            f"The {argument} {shown(reference)} is no Unicode text.", hint="Leave out lone surrogates."
        ) from None
    if text.removeprefix("!").startswith("[[") and text.endswith("]]"):
        text = text.removeprefix("!")[2:-2].partition("|")[0].rstrip("\\").strip()
    return text


def reading_cut_at(text: str, at: int) -> Reading:
    """The reading whose name ends at the separator at `at`."""
    name, fragment = text[:at].strip(), text[at + 1 :]
    if text[at] == "|":
        return Reading(name)
    fragment = fragment.partition("|")[0].strip()
    if text[at] == "^":
        return Reading(name, block=fragment)
    if fragment.startswith("^"):
        return Reading(name, block=fragment[1:].strip() or None)
    return Reading(name, heading=fragment or None)


def shown(reference: str) -> str:
    return repr(reference[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]


# -- stages --


def resolve_reading(way: Reading, lookup: Lookup, state: VaultState) -> Resolution | None:
    """Resolves one reading; None if no stage has a hit."""
    if (note := first_at(note_paths(way.name), lookup)) is not None:
        return Resolution(note, "path", heading=way.heading, block=way.block)
    wanted = Wanted.of(unicodedata.normalize("NFC", way.name))
    entries = {entry.id: entry for each in target_keys(wanted.name) for entry in lookup.named(each)}.values()
    for stage, matches in _STAGES:
        hits = [entry for entry in entries if matches(entry, wanted)]
        if hits:
            return _decided(stage, [entry.ref for entry in hits], way, state)
    moved = at_former_path(way.name, lookup, state)
    return _decided("formerPath", [moved], way, state) if moved is not None else None


def at_former_path(name: str, lookup: Lookup, state: VaultState) -> NoteRef | None:
    """The note that was at this path, with or without `.md`, before it was renamed."""
    former = [now for path in note_paths(name) if (now := state.current_path(path)) is not None]
    return first_at(former, lookup)


def _decided(stage: str, hits: Sequence[NoteRef], way: Reading, state: VaultState) -> Resolution:
    hits = [ref for ref in hits if ref.id not in state.archived] or hits
    if len(hits) == 1:
        return Resolution(hits[0], stage, heading=way.heading, block=way.block)
    ranks = {note: rank for rank, note in enumerate(members(state))}
    ordered = sorted(hits, key=lambda ref: (ranks.get(ref.id, len(ranks)), ref.id))
    return Resolution(
        resolved_by=stage, candidates=tuple(ordered[:CANDIDATES_MAX]), heading=way.heading, block=way.block
    )


def members(state: VaultState) -> dict[NoteId, None]:
    """The workspace's notes: active, pins, tabs, recents (newest first)."""
    active = [state.active.id] if state.active is not None else []
    return dict.fromkeys([*active, *state.pins, *state.tabs, *reversed(state.recents)])


def note_paths(name: str) -> Iterator[NoteId]:
    """The paths that `name` could be: unchanged, then with `.md`.

    Of two files whose names differ only in normalisation, one keeps a path that is not NFC. So each path comes
    before its NFC form.
    """
    name = name.removeprefix("./")
    for path in (name, f"{name}.md"):
        try:
            note = note_id(path)
        except (InvalidArgument, OutsideVault):
            continue
        if note != path:
            yield NoteId(path)
        yield note


def first_at(paths: Iterable[NoteId], lookup: Lookup) -> NoteRef | None:
    for path in paths:
        if (note := lookup.at_path(path)) is not None:
            return note
    return None
