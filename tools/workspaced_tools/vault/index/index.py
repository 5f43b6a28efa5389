"""`Index`: finds a vault's notes by name, link, tag and word without reading files.

The index is disposable and can always be rebuilt from the notes (see `database`). Of a withheld note it has only
the path, the identity of its file, and hashes of the names of its images. The target of a link is not stored but
resolved on demand: it depends on the notes archived and renamed in the workspace, and on every other note's name;
keys make that a matter of microseconds.
"""

import json
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.ids import NoteId

from ...notes.name_keys import slug, without_case
from ...notes.note import StatKey
from ...notes.search_text import search_form
from .database import IndexFile, read_in
from .entries import IndexedNote, IndexEntry, NamedNote, Withheld, bare, target_keys
from .files import drop_embedded, keep_embedded, put_embedded
from .full_text import delete_text, insert_texts

NEAR_SCORE_MIN: Final = 50.0
"""Of 100; a title with a lower score is not similar."""
NEAR_NAME_CHARS_MAX: Final = 200
_NEAR_PARTS: Final = 6
_NEAR_COMPARED_MAX: Final = 5_000

_LISTED: Final = "(SELECT value FROM json_each(?))"
_KNOWN: Final = "SELECT path, stat, certain, withheld, has_text FROM notes"
_STAT: Final = struct.Struct("<QQQqIqI")
"""Times as seconds and nanoseconds, because a file's time may be in the year 2300."""
_SECOND_NS: Final = 1_000_000_000
_FOR_REQUESTS: Final = tuple(int(each) for each in Withheld if each.is_for_requests)
_FLAGGED: Final = (Withheld.PRIVATE, Withheld.REQUESTED)
_ENTRY: Final = "path, title, front_matter_id, aliases, stat, sha256, certain, withheld"


class Known(msgspec.Struct, frozen=True, gc=False):
    """The values of an indexed note with which a crawl decides whether its entry is up to date."""

    stat: StatKey
    certain: bool
    withheld: Withheld
    has_text: bool


class LinkRow(msgspec.Struct, frozen=True, gc=False):
    """One link in the index."""

    source: NoteId
    title: str
    target: str
    line: int
    context: str
    heading: str | None


class Index:
    """Reads are safe from any thread and raise IndexLost if the file failed; only one thread may write."""

    def __init__(self, directory: Path | None = None, vault: str = "", files: str = "") -> None:
        """See `IndexFile`."""
        self.file: Final = IndexFile(directory, vault, files)
        self.private: dict[NoteId, Withheld] = {}
        """The notes that front matter withheld when last written (PRIVATE, REQUESTED), even if they are gone."""
        self._next = 1
        self._shared = self.withheld_count = self.link_count = 0

    def open(self) -> bool:
        """Opens the file; returns whether it is the existing one. Raises as `IndexFile.open`."""
        kept = self.file.open()
        self._load_counts()
        return kept

    def remake(self) -> None:
        """Replaces the file by an empty one. Raises as `open`."""
        self.file.remake()
        self._load_counts()

    def close(self) -> None:
        """Closes and seals the file for the next start. Idempotent."""
        self.file.close()

    def _load_counts(self) -> None:
        # A number in `embedded` may be that of a note that is gone.
        [(last,)] = self.file.read(
            "SELECT max(note) FROM (SELECT max(note) note FROM notes UNION SELECT max(note) FROM embedded)"
        )
        [(notes, withheld)] = self.file.read("SELECT count(*), total(withheld <> 0) FROM notes")
        self._next, self.withheld_count = (last or 0) + 1, int(withheld)
        self._shared = notes - self.withheld_count
        self.link_count = self.file.read("SELECT count(*) FROM links")[0][0]
        rows = self.file.read("SELECT path, withheld FROM private")
        self.private = {path: Withheld(withheld) for path, withheld in rows}

    @property
    def is_complete(self) -> bool:
        """Whether a whole crawl has once written the names and links of all notes."""
        rows = self.file.read("PRAGMA user_version")
        return bool(rows and rows[0][0])

    def set_complete(self) -> None:
        """Marks that a whole crawl has written all notes."""
        with self.file.writing() as db:
            db.execute("PRAGMA user_version = 1")

    # -- writing --

    def put(self, notes: Sequence[IndexedNote], gone: Iterable[NoteId] = ()) -> None:
        """Replaces the former version of each of `notes` and removes those gone, in one transaction."""
        with self.file.writing() as db:
            paths = _json((*gone, *(note.entry.id for note in notes)))
            known = db.execute(f"SELECT note, has_text, {_ENTRY} FROM notes WHERE path IN {_LISTED}", (paths,))
            found = known.fetchall()
            former = [_delete(db, row) for row in found]
            rows = _Rows()
            for number, note in enumerate(notes, start=self._next):
                rows.add(number, note, was_private=note.entry.id in self.private)
            rows.insert(db)
            present = {note.entry.id: (number, note) for number, note in enumerate(notes, start=self._next)}
            for row, each in zip(found, former, strict=True):
                _follow_embedded(db, row[0], each, *present.get(row[2], (None, None)))
            put_embedded(db, rows.embedded)
        for note in notes:
            if note.entry.withheld in _FLAGGED:
                self.private[note.entry.id] = note.entry.withheld
            elif not note.entry.withheld:
                self.private.pop(note.entry.id, None)
        self._next += len(notes)
        withheld = sum(1 for note in notes if note.entry.withheld) - sum(1 for each in former if each.withheld)
        self.withheld_count += withheld
        self._shared += len(notes) - len(former) - withheld
        self.link_count += len(rows.links) - sum(each.links for each in former)

    def withhold(self, denied: Callable[[NoteId], bool]) -> None:
        """Reduces all `denied` notes to path and identity, in one transaction."""
        found = self.entries([note for note in self.ids() if denied(note)])
        if found:
            self.put([_denied(entry) for entry in found.values()])

    def hide(self, note: NoteId, withheld: Withheld) -> None:
        """Reduces a note to path and identity, if it is known and not withheld."""
        entry = self.entry(note)
        if entry is not None and not entry.withheld:
            self.put([bare(note, entry.stat, entry.sha256, withheld, certain=False)])

    def doubt(self, notes: Iterable[NoteId]) -> None:
        """Makes the next crawl read these notes again."""
        with self.file.writing() as db:
            db.executemany("UPDATE notes SET certain = 0 WHERE path = ?", [(note,) for note in notes])

    def put_texts(self, texts: Iterable[tuple[NoteId, StatKey, str]]) -> None:
        """Adds texts to notes that lack them and whose indexed version has the same stat."""
        with self.file.writing() as db:
            rows = []
            for path, stat, text in texts:
                found = db.execute(
                    "SELECT note FROM notes WHERE path = ? AND stat = ? AND NOT has_text AND NOT withheld",
                    (path, _packed(stat)),
                ).fetchone()
                if found is not None:
                    rows.append((found[0], text))
            insert_texts(db, rows)
            db.executemany("UPDATE notes SET has_text = 1 WHERE note = ?", [(row[0],) for row in rows])

    # -- reading --

    def entry(self, note: NoteId) -> IndexEntry | None:
        """The note's entry, withheld or not."""
        rows = self.file.read(f"SELECT {_ENTRY} FROM notes WHERE path = ?", (note,))
        return _entry(rows[0]) if rows else None

    def entries(self, notes: Sequence[NoteId]) -> dict[NoteId, IndexEntry]:
        """The entries of these notes, withheld or not."""
        if not notes:
            return {}
        rows = self.file.read(f"SELECT {_ENTRY} FROM notes WHERE path IN {_LISTED}", (_json(notes),))
        return {row[0]: _entry(row) for row in rows}

    def named(self, name_key: str) -> list[NamedNote]:
        """The notes with this key among their `name_keys()`, in no particular order."""
        rows = self.file.read(
            "SELECT n.path, n.title, n.front_matter_id, n.aliases FROM names k JOIN notes n ON n.note = k.note"
            " WHERE k.key = ?",
            (name_key,),
        )
        return [NamedNote(row[0], row[1], row[2], _aliases(row[3])) for row in rows]

    def linking(self, keys: Iterable[str]) -> Iterator[LinkRow]:
        """Every link whose target has one of these keys, ordered by source, then by place in the text."""
        rows = self.file.read(
            "SELECT n.path, n.title, l.target, l.line, l.context, l.heading FROM"
            " (SELECT DISTINCT note, n FROM link_keys WHERE key IN " + _LISTED + ") k"
            " JOIN links l ON l.note = k.note AND l.n = k.n JOIN notes n ON n.note = k.note ORDER BY n.path, l.n",
            (_json(keys),),
        )
        return (LinkRow(*row) for row in rows)

    def near(self, name: str, limit: int) -> list[IndexEntry]:
        """The notes with the titles most similar to `name`, best first: those of the same words, then those with
        a score of at least NEAR_SCORE_MIN.

        In a large vault only titles that share one of the name's rarest trigrams are compared.
        """
        wanted = without_case(name[:NEAR_NAME_CHARS_MAX])
        titles = {row[0]: without_case(row[1]) for row in self._comparable(search_form(wanted))}
        # Only names that nothing has are compared so. Its 4 MB would be in every process that can replay a call.
        from rapidfuzz import fuzz, process

        found = process.extract(wanted, titles, scorer=fuzz.ratio, limit=limit, score_cutoff=NEAR_SCORE_MIN)
        words = slug(wanted)
        same = sorted(path for path, title in titles.items() if words and slug(title) == words)
        ordered = dict.fromkeys([*same, *(hit[2] for hit in sorted(found, key=lambda hit: (-hit[1], hit[2])))])
        entries = [self.entry(path) for path in list(ordered)[:limit]]
        return [entry for entry in entries if entry is not None and not entry.withheld]

    def _comparable(self, wanted: str) -> list[Any]:
        if self.count() <= _NEAR_COMPARED_MAX:
            return self.file.read("SELECT path, title FROM notes WHERE NOT withheld")
        parts = {wanted[at : at + 3] for at in range(len(wanted) - 2)}
        known = self.file.read(
            "SELECT term FROM name_gram_terms WHERE term IN (SELECT value FROM json_each(?)) ORDER BY doc LIMIT ?",
            (_json(parts), _NEAR_PARTS),
        )
        query = " OR ".join('"' + term.replace('"', '""') + '"' for (term,) in known)
        if not query:
            return []
        return self.file.read(
            "SELECT n.path, n.title FROM name_grams t JOIN notes n ON n.note = t.rowid"
            " WHERE name_grams MATCH ? LIMIT ?",
            (query, _NEAR_COMPARED_MAX),
        )

    def known(self) -> dict[NoteId, Known]:
        """Every note, withheld ones included, with the values that a crawl compares."""
        return _known(self.file.read(_KNOWN))

    def ids(self) -> list[NoteId]:
        """Every note that is not withheld, in no particular order."""
        return [row[0] for row in self.file.read("SELECT path FROM notes WHERE NOT withheld")]

    def textless(self) -> list[NoteId]:
        """The notes that are not withheld and whose text is not indexed."""
        return [row[0] for row in self.file.read("SELECT path FROM notes WHERE NOT withheld AND NOT has_text")]

    def for_requests(self) -> list[NoteId]:
        """The notes that are withheld here because they are for explicit requests only."""
        rows = self.file.read("SELECT path FROM notes WHERE withheld IN (?, ?)", _FOR_REQUESTS)
        return [row[0] for row in rows]

    def any_below(self, folder: str) -> bool:
        """Whether any note is below `folder`, a path that ends in a slash."""
        below = (folder, f"{folder[:-1]}0")  # `0` follows the slash
        return bool(self.file.read("SELECT 1 FROM notes WHERE path > ? AND path < ? LIMIT 1", below))

    def in_part(self) -> bool:
        """Whether of any note only the first links and tags are kept."""
        return bool(self.file.read("SELECT 1 FROM notes WHERE NOT is_whole LIMIT 1"))

    def count(self) -> int:
        """The number of notes that are not withheld."""
        return self._shared


def known_in(path: Path) -> dict[NoteId, Known]:
    """As `Index.known`, for an index's file that another process has open."""
    return _known(read_in(path, _KNOWN))


def _known(rows: Iterable[Any]) -> dict[NoteId, Known]:
    return {
        path: Known(_unpacked(stat), bool(certain), Withheld(withheld), bool(has_text))
        for path, stat, certain, withheld, has_text in rows
    }


class _Rows:
    """The rows that `put` inserts, by table."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.names: list[Any] = []
        self.links: list[Any] = []
        self.link_keys: list[Any] = []
        self.tags: list[Any] = []
        self.texts: list[Any] = []
        self.private: list[Any] = []
        self.shared: list[Any] = []
        self.embedded: list[tuple[bytes, int]] = []

    def add(self, number: int, note: IndexedNote, *, was_private: bool) -> None:
        entry = note.entry
        self.notes.append(
            (
                *(number, entry.id, entry.title, entry.front_matter_id),
                json.dumps(entry.aliases, ensure_ascii=False) if entry.aliases else None,
                *(_packed(entry.stat), min(entry.stat.mtime_ns, 2**63 - 1), bytes.fromhex(entry.sha256)),
                *(entry.certain, int(entry.withheld), note.text is not None, note.is_whole),
            )
        )
        if entry.withheld in _FLAGGED:
            self.private.append((entry.id, int(entry.withheld)))
        elif was_private and not entry.withheld:
            self.shared.append((entry.id,))
        self.embedded.extend((name, number) for name in note.images or ())
        if entry.withheld:
            return
        self.names.extend((each, number) for each in note.keys)
        for place, link in enumerate(note.links):
            self.links.append((number, place, link.target, link.heading, link.line, link.context))
            self.link_keys.extend((each, number, place) for each in link.keys)
        self.tags.extend({without_case(tag): (without_case(tag), number, tag) for tag in note.tags}.values())
        if note.text is not None:
            self.texts.append((number, note.text))

    def insert(self, db: Any) -> None:
        for table, rows, columns in (
            ("notes", self.notes, 12),
            ("names", self.names, 2),
            ("links", self.links, 6),
            ("link_keys", self.link_keys, 3),
            ("tags", self.tags, 3),
        ):
            # Sorted by the table's key, neighbours go to the same page. Rows of one key stand in the order of the
            # rest of it, as notes and their links do. To compare whole rows takes twice as long, and no other
            # thread runs meanwhile.
            rows.sort(key=itemgetter(0))
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)
        db.executemany(
            "INSERT INTO tag_counts VALUES (?, ?) ON CONFLICT(tag) DO UPDATE SET notes = notes + excluded.notes",
            Counter(row[0] for row in self.tags).items(),
        )
        insert_texts(db, self.texts)
        db.executemany("INSERT OR REPLACE INTO private VALUES (?, ?)", self.private)
        db.executemany("DELETE FROM private WHERE path = ?", self.shared)


class _Former(NamedTuple):
    """The counts of a deleted version."""

    withheld: bool
    links: int
    has_text: bool


def _delete(db: Any, row: Any) -> _Former:
    """Deletes everything about the note of this row except that it was private."""
    number, has_text, entry = row[0], row[1], _entry(row[2:])
    names = () if entry.withheld else entry.name_keys()
    db.executemany("DELETE FROM names WHERE key = ? AND note = ?", [(each, number) for each in names])
    targets = db.execute("SELECT DISTINCT target FROM links WHERE note = ?", (number,)).fetchall()
    keys = {each for (target,) in targets for each in target_keys(target)}
    db.executemany("DELETE FROM link_keys WHERE key = ? AND note = ?", [(each, number) for each in keys])
    db.execute(
        "UPDATE tag_counts SET notes = notes - 1 WHERE tag IN (SELECT tag FROM tags WHERE note = ?)", (number,)
    )
    links: int = db.execute("DELETE FROM links WHERE note = ?", (number,)).rowcount
    for table in ("tags", "notes"):
        db.execute(f"DELETE FROM {table} WHERE note = ?", (number,))
    if has_text:
        delete_text(db, number)
    return _Former(bool(entry.withheld), links, bool(has_text))


def _follow_embedded(db: Any, number: int, former: _Former, now: int | None, note: IndexedNote | None) -> None:
    """Keeps or drops the names of images that the former version of a note embedded; None: the note is gone."""
    if former.withheld if note is None else note.entry.withheld:
        keep_embedded(db, number, now, is_read=note is not None and note.images is not None)
    else:
        drop_embedded(db, number)


def _denied(entry: IndexEntry) -> IndexedNote:
    return bare(entry.id, entry.stat, entry.sha256, Withheld.BY_RULE, certain=entry.certain)


def _json(texts: Iterable[str]) -> str:
    """A list for `json_each`, so that one statement serves lists of any length."""
    return json.dumps(list(texts), ensure_ascii=False)


def _entry(row: Any) -> IndexEntry:
    path, title, front_matter_id, aliases, stat, sha256, certain, withheld = row
    return IndexEntry(
        *(path, title, front_matter_id, _aliases(aliases)),
        stat=_unpacked(stat),
        sha256=sha256.hex(),
        certain=bool(certain),
        withheld=Withheld(withheld),
    )


def _aliases(kept: str | None) -> tuple[str, ...]:
    return tuple(json.loads(kept)) if kept else ()


def _packed(stat: StatKey) -> bytes:
    times = (*divmod(stat.mtime_ns, _SECOND_NS), *divmod(stat.ctime_ns, _SECOND_NS))
    return _STAT.pack(stat.device, stat.inode, stat.size, *times)


def _unpacked(stat: bytes) -> StatKey:
    device, inode, size, mtime_s, mtime_ns, ctime_s, ctime_ns = _STAT.unpack(stat)
    return StatKey(device, inode, size, mtime_s * _SECOND_NS + mtime_ns, ctime_s * _SECOND_NS + ctime_ns)
