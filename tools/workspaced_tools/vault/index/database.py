"""The index's file: a disposable SQLite database with a seal that shows whether it can be trusted.

An existing file is used only if its seal matches: the vault, the version of this program's rules, and the hash of
the file's bytes. A clean close writes the seal and opening removes it. So a crash, a foreign file, another version
and a flipped bit all have the same remedy: the file is rebuilt from the notes. Since it can always be rebuilt,
nothing is ever synced (`synchronous=OFF`).

One connection writes; readers take connections from a pool (with a write-ahead log they never wait for the
writer).
"""

import hashlib
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from workspaced_events.log.disk import read_regular
from workspaced_events.private_files import make_folder, touch_file, write_file

from .full_text import FULL_TEXT_SCHEMA

INDEX_VERSION: Final = 1
"""Raised with every change of the schema or of parsing: files of other versions are rebuilt."""

_BUILDING_CACHE_KIB: Final = 32_768
_WRITER_CACHE_KIB: Final = 2_048
_READER_CACHE_KIB: Final = 4_096
_READERS_KEPT: Final = 8
_SCHEMA: Final = """
CREATE TABLE notes(
  note INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL, front_matter_id TEXT, aliases TEXT,
  stat BLOB NOT NULL, mtime_ns INTEGER NOT NULL, sha256 BLOB NOT NULL,
  certain INTEGER NOT NULL, withheld INTEGER NOT NULL, has_text INTEGER NOT NULL, is_whole INTEGER NOT NULL);
CREATE INDEX notes_by_mtime ON notes(mtime_ns);
CREATE INDEX notes_in_part ON notes(note) WHERE NOT is_whole;
CREATE TABLE names(key TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY(key, note)) WITHOUT ROWID;
CREATE TABLE links(
  note INTEGER NOT NULL, n INTEGER NOT NULL, target TEXT NOT NULL, heading TEXT, line INTEGER NOT NULL,
  context TEXT NOT NULL, PRIMARY KEY(note, n)) WITHOUT ROWID;
CREATE TABLE link_keys(
  key TEXT NOT NULL, note INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(key, note, n)) WITHOUT ROWID;
CREATE TABLE tags(
  tag TEXT NOT NULL, note INTEGER NOT NULL, shown TEXT NOT NULL, PRIMARY KEY(tag, note)) WITHOUT ROWID;
CREATE INDEX tags_of ON tags(note);
CREATE TABLE tag_counts(tag TEXT PRIMARY KEY, notes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE private(path TEXT PRIMARY KEY, withheld INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files(path TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX files_by_name ON files(name);
CREATE TABLE embedded(
  name BLOB NOT NULL, note INTEGER NOT NULL, former INTEGER NOT NULL, PRIMARY KEY(name, note)) WITHOUT ROWID;
CREATE INDEX embedded_by ON embedded(note);
"""


class IndexLost(Exception):
    """The file failed and must be rebuilt. Answers wait for that, or do without the index."""


class IndexFull(Exception):
    """The disk has no room for a change. Nothing of the change was written."""


class _Seal(msgspec.Struct, frozen=True):
    version: int
    vault: str
    sqlite: str
    size: int
    sha256: str
    files: str = ""
    """`SelectedFiles.digest`: the files that are no Markdown."""


class IndexFile:
    """One database file. Only one thread at a time may open, write or close it; `read` is safe from any thread."""

    def __init__(self, directory: Path | None, vault: str, files: str = "") -> None:
        """Without a directory the file is temporary.

        Args:
            vault: identifies the vault.
            files: identifies its files that are notes beside Markdown; an index of others is not used.
        """
        self._files = files
        self._vault = vault
        self._directory = directory
        self._temporary: Path | None = None
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []
        self._pool = threading.Lock()
        self._held = threading.local()
        self._generation = 0
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """The file's path; only while it is open."""
        assert self._path is not None, "not open"
        return self._path

    @property
    def generation(self) -> int:
        """Changes whenever a file is closed or dropped; results read across a change are invalid."""
        return self._generation

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    def open(self) -> bool:
        """Opens the existing file if it can be trusted, else a new one; returns whether it was the existing one.

        Raises:
            OSError, sqlite3.Error: the directory cannot be used.
        """
        assert self._writer is None, "opened twice"
        path = self._place()
        kept = self._is_sealed(path)
        for ending in (".seal", ".new"):
            _discard(path.with_suffix(ending))
        writer = None
        if kept:
            with suppress(sqlite3.Error):  # The file was damaged while open, and then sealed.
                writer = _connect_writer(path)
        if writer is None:
            kept = False
            _remove(path)
            writer = _connect_writer(path, _SCHEMA + FULL_TEXT_SCHEMA)
        self._path, self._writer = path, writer
        return kept

    def remake(self) -> None:
        """Deletes the file and opens a new, empty one. Raises as `open`."""
        self._close_connections()
        if self._path is not None:
            _remove(self._path)
        self.open()

    def close(self) -> None:
        """Closes and seals the file; deletes a temporary one. Idempotent."""
        path = self._path
        whole = self._close_connections()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
        elif whole and path is not None:
            with suppress(OSError):
                self._seal(path)
        self._path = None

    def drop(self) -> None:
        """Closes a file that failed; reads return no rows until `remake`."""
        self._close_connections()

    def expect_writes(self) -> None:
        """Lets the writer take the memory that many writes need, until `rest`. So does `open`."""
        self._set_writer_cache(_BUILDING_CACHE_KIB)

    def rest(self) -> None:
        """Frees the memory that only many writes need, and the caches of readers that nobody uses now."""
        self._set_writer_cache(_WRITER_CACHE_KIB, "PRAGMA shrink_memory")
        with self._pool:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def _set_writer_cache(self, kib: int, then: str = "") -> None:
        if self._writer is not None:
            with suppress(sqlite3.Error):  # The next write shows that the file failed.
                self._writer.executescript(f"PRAGMA cache_size = -{kib}; {then}")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, rolled back if it fails.

        Raises:
            IndexLost: the file failed.
            IndexFull: the disk has no room.
        """
        writer = self._writer
        if writer is None:
            raise IndexLost
        try:
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
            except BaseException:
                with suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")
                raise
            writer.execute("COMMIT")
        except sqlite3.Error as reason:
            if getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise IndexFull(str(reason)) from reason
            raise IndexLost(str(reason)) from reason

    def read(self, sql: str, arguments: Any = ()) -> list[Any]:
        """The rows; none while the file is not open. Raises IndexLost if the file failed."""
        held: sqlite3.Connection | None = getattr(self._held, "reader", None)
        if held is not None:
            return _rows(held, sql, arguments)
        reader, generation = self._take_reader()
        if reader is None:
            return []
        try:
            rows = _rows(reader, sql, arguments)
        except sqlite3.Error as reason:
            reader.close()
            raise IndexLost(str(reason)) from reason
        self._keep_reader(reader, generation)
        return rows

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """All that this thread reads inside is of one state of the file: a note's number holds from read to read,
        though the note is written anew meanwhile. What this thread itself writes inside, it does not read there.

        Raises:
            IndexLost: the file failed.
        """
        reader, generation = self._take_reader()
        if reader is None:
            yield
            return
        self._held.reader = reader
        try:
            reader.execute("BEGIN")
            yield
            reader.execute("COMMIT")
        except sqlite3.Error as reason:
            reader.close()
            raise IndexLost(str(reason)) from reason
        except BaseException:
            reader.close()
            raise
        finally:
            self._held.reader = None
        self._keep_reader(reader, generation)

    def _take_reader(self) -> tuple[sqlite3.Connection | None, int]:
        """A connection for this thread alone, and its generation; None: the file is not open."""
        with self._pool:
            path, generation = self._path, self._generation
            if self._writer is None or path is None:
                return None, generation
            if self._idle:
                return self._idle.pop(), generation
        try:
            return _connect(path, _READER_CACHE_KIB), generation
        except sqlite3.Error as reason:
            raise IndexLost(str(reason)) from reason

    def _keep_reader(self, reader: sqlite3.Connection, generation: int) -> None:
        """Keeps a connection for others, or closes it."""
        with self._pool:
            if generation == self._generation and len(self._idle) < _READERS_KEPT:
                self._idle.append(reader)
                return
        reader.close()

    def _place(self) -> Path:
        directory = self._directory
        if directory is None:
            directory = self._temporary = self._temporary or Path(tempfile.mkdtemp(prefix="workspaced-index-"))
        make_folder(directory)
        return directory / f"{_stem(self._vault)}.sqlite"

    def _close_connections(self) -> bool:
        """Closes every connection; returns whether the one file has all writes."""
        with self._pool:
            writer, self._writer = self._writer, None
            idle, self._idle = self._idle, []
            self._generation += 1
        for reader in idle:
            reader.close()
        if writer is None:
            return False
        try:
            busy, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.Error:
            return False
        finally:
            writer.close()

    def _seal(self, path: Path) -> None:
        seal = _Seal(
            INDEX_VERSION, self._vault, sqlite3.sqlite_version, path.stat().st_size, _hash(path), self._files
        )
        new = path.with_suffix(".new")
        write_file(new, msgspec.json.encode(seal))
        new.replace(path.with_suffix(".seal"))

    def _is_sealed(self, path: Path) -> bool:
        try:
            seal = msgspec.json.decode(read_regular(path.with_suffix(".seal")), type=_Seal)
            present = (INDEX_VERSION, self._vault, sqlite3.sqlite_version, self._files)
            if (seal.version, seal.vault, seal.sqlite, seal.files) != present:
                return False
            if (
                path.is_symlink()
                or not path.is_file()
                or any(Path(f"{path}{end}").exists() for end in ("-wal", "-journal"))
            ):
                return False
            return path.stat().st_size == seal.size and _hash(path) == seal.sha256
        except (OSError, ValueError):
            return False


def remove_index(directory: Path, vault: str) -> None:
    """Removes the files of a vault's indexes, which must not be open.

    Raises:
        OSError: a file could not be removed.
    """
    for name in (vault, requested(vault)):
        for path in directory.glob(f"{_stem(name)}.*"):
            path.unlink(missing_ok=True)


def requested(vault: str) -> str:
    """The name of the index of those notes of a vault that are for explicit requests only."""
    return f"{vault}\0on-request"


def _stem(vault: str) -> str:
    return hashlib.sha256(vault.encode(errors="surrogateescape")).hexdigest()[:24]


def read_in(path: Path, sql: str) -> list[Any]:
    """The rows in a file that another process has open."""
    connection = _connect(path, _READER_CACHE_KIB)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _rows(reader: sqlite3.Connection, sql: str, arguments: Any = ()) -> list[Any]:
    try:
        return reader.execute(sql, arguments).fetchall()
    except UnicodeEncodeError:
        return []  # A lone surrogate, which no note's text has.


def _connect_writer(path: Path, schema: str = "") -> sqlite3.Connection:
    touch_file(path)  # SQLite gives its write-ahead log and shared memory the file's mode
    writer = _connect(path, _BUILDING_CACHE_KIB)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 16000")
        writer.executescript(schema)
    except sqlite3.Error:
        writer.close()
        raise
    return writer


def _connect(path: Path, cache_kib: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        _discard(Path(f"{path}{end}"))


def _discard(path: Path) -> None:
    """Removes a file, or a folder of that name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
