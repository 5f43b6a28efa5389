"""The content cache: what is served is what is on disk now."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workspaced_events.ids import NoteId
from workspaced_tools.limits import NOTE_BYTES_MAX, READ_ATTEMPTS_MAX, UNCERTAIN_NS, YOUNG_BYTES_MAX
from workspaced_tools.notes.note import Note, NoteFailure, PrivateNote
from workspaced_tools.ports.asking import WouldBlock, without_waiting
from workspaced_tools.vault.files import content_cache as cache_module
from workspaced_tools.vault.files.content_cache import ContentCache, decode
from workspaced_tools.vault.files.safe_open import VaultRoot

A, B = NoteId("a.md"), NoteId("b.md")
OLD_NS = 1_000_000_000_000_000_000


class Clock:
    """At `base_ns + offset_ns`: far from the files' times unless told otherwise, so that versions are certain."""

    def __init__(self, base_ns: int) -> None:
        self.base_ns = base_ns
        self.offset_ns = 1_000 * UNCERTAIN_NS

    def __call__(self) -> int:
        return self.base_ns + self.offset_ns


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("alpha")
    (tmp_path / "b.md").write_text("beta")
    return tmp_path


@pytest.fixture
def clock(vault: Path) -> Clock:
    return Clock(os.stat(vault / "a.md").st_ctime_ns)


@pytest.fixture
def cache(vault: Path, clock: Clock) -> Iterator[ContentCache]:
    root = VaultRoot(vault)
    made = ContentCache(root, clock_ns=clock)
    yield made
    made.close()
    root.close()


def text(found: Note | NoteFailure) -> str:
    assert isinstance(found, Note), found
    return found.text


def counts(cache: ContentCache) -> tuple[int, int]:
    found = cache.statistics()
    return found.hits, found.misses


def test_a_second_read_is_a_hit_that_reads_no_byte(cache: ContentCache, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cache.read(A)
    assert text(first) == "alpha"
    monkeypatch.setattr(os, "read", None)
    assert cache.read(A) is first
    assert counts(cache) == (1, 1)


@pytest.mark.parametrize(
    ("offset_ns", "hits"), [(0, 0), (UNCERTAIN_NS - 1, 0), (UNCERTAIN_NS, 1), (-UNCERTAIN_NS, 0)]
)
def test_a_version_read_within_two_seconds_of_its_change_is_read_again(
    cache: ContentCache, vault: Path, clock: Clock, offset_ns: int, hits: int
) -> None:
    os.utime(vault / "a.md", ns=(OLD_NS, OLD_NS))
    clock.base_ns, clock.offset_ns = os.stat(vault / "a.md").st_ctime_ns, offset_ns
    first = cache.read(A)
    assert cache.read(A) is first, "what was parsed is kept"
    assert counts(cache) == (hits, 2 - hits)
    clock.offset_ns = UNCERTAIN_NS
    assert cache.read(A) is cache.read(A) is first
    assert counts(cache)[0] == 2 * hits + 1, "read late, it is certain"


def nonblocking(cache: ContentCache, *notes: NoteId) -> list[str] | None:
    try:
        with without_waiting():
            return [text(each) for each in cache.read_many(notes) if not isinstance(each, PrivateNote)]
    except WouldBlock:
        return None


def test_a_young_note_is_read_without_blocking_and_what_may_wait_for_a_disk_would_block(
    cache: ContentCache, vault: Path, clock: Clock
) -> None:
    late, clock.offset_ns = clock.offset_ns, 0
    assert nonblocking(cache, A) is None, "never shown before"
    cache.read_many([A, B])
    for young in ("omega", "gamma"):
        (vault / "a.md").write_text(young)
        assert nonblocking(cache, A, B) == [young, "beta"]
    (vault / "a.md").write_text("a" * (YOUNG_BYTES_MAX - len("beta") + 1))
    assert nonblocking(cache, A) is not None
    assert nonblocking(cache, A, B) is None, "too much at once"
    (vault / "a.md").write_text("alpha")
    clock.offset_ns = late
    assert nonblocking(cache, A) is None, "changed long ago"


def test_failures_are_values_and_never_cached(cache: ContentCache, vault: Path) -> None:
    for path, code in (("c.md", "NOTE_NOT_FOUND"), ("../c.md", "OUTSIDE_VAULT"), ("d.md", "READ_ERROR")):
        (vault / "d.md").mkdir(exist_ok=True)
        found = cache.read(NoteId(path))
        assert isinstance(found, NoteFailure)
        assert (found.id, found.code) == (path, code)
        assert str(vault) not in found.message
    (vault / "c.md").write_text("now")
    assert text(cache.read(NoteId("c.md"))) == "now"


@pytest.mark.parametrize(("instead", "code"), [(None, "NOTE_NOT_FOUND"), ("symlink", "SYMLINK")])
def test_a_note_that_is_gone_leaves_it(cache: ContentCache, vault: Path, instead: str | None, code: str) -> None:
    cache.read(A)
    (vault / "a.md").unlink()
    if instead:
        (vault / "a.md").symlink_to("b.md")
    found = cache.read(A)
    assert isinstance(found, NoteFailure) and found.code == code
    assert cache.statistics().entries == cache.statistics().bytes == 0


def writing(vault: Path, monkeypatch: pytest.MonkeyPatch, writes: list[str]) -> Callable[[], int]:
    """Makes a writer who writes the next text during each read; returns how many reads there were."""
    reads = 0
    genuine = cache_module._read_head

    def read(descriptor: int, size: int) -> bytes:
        nonlocal reads
        reads += 1
        data = genuine(descriptor, size)
        if writes:
            (vault / "a.md").write_text(writes.pop(0))
        return data

    monkeypatch.setattr(cache_module, "_read_head", read)
    return lambda: reads


def test_what_changes_meanwhile_is_reread(
    cache: ContentCache, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = writing(vault, monkeypatch, ["", "the whole text"])
    assert text(cache.read(A)) == "the whole text"
    assert reads() == 3
    assert text(cache.read(A)) == "the whole text"
    assert reads() == 3


def test_a_note_that_never_rests_is_flagged(
    cache: ContentCache, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing(vault, monkeypatch, ["x" * size for size in range(10, 10 + READ_ATTEMPTS_MAX)])
    found = cache.read(A)
    assert isinstance(found, Note)
    assert "being written" in found.warnings[0]
    assert cache.statistics().entries == 0
    assert cache.read(A).warnings == ()  # type: ignore[union-attr]


def test_slow_notes_are_read_at_once(cache: ContentCache, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [NoteId(f"n{number}.md") for number in range(5)]
    for note in notes:
        (vault / note).write_text(note)
    together = threading.Barrier(4, timeout=60)
    genuine = cache_module._read_head
    main = threading.current_thread()

    def read(descriptor: int, size: int) -> bytes:
        if threading.current_thread() is not main:
            together.wait()
        return genuine(descriptor, size)

    monkeypatch.setattr(cache_module, "_read_head", read)
    monkeypatch.setattr(cache_module, "READ_INLINE_S", -1.0)
    assert [text(note) for note in cache.read_many(notes)] == notes


def test_the_least_recently_used_go_first_and_giants_are_not_kept(vault: Path, clock: Clock) -> None:
    for name in "abcd":
        (vault / f"{name}.md").write_text(name * 10_000)
    (vault / "large.md").write_text("l" * 50_000)
    root = VaultRoot(vault)
    cache = ContentCache(root, bytes_max=40_000, clock_ns=clock)
    for name in ("a", "b", "c", "a", "d"):
        cache.read(NoteId(f"{name}.md"))
    found = cache.statistics()
    assert (found.entries, found.evictions) == (3, 1)
    assert 30_000 < found.bytes <= 40_000
    assert len(text(cache.read(NoteId("large.md")))) == 50_000
    cache.read_many([NoteId("a.md"), NoteId("c.md"), NoteId("d.md")])
    assert cache.statistics().hits == found.hits + 3
    cache.close()
    root.close()


def test_a_huge_sparse_file_is_read_to_the_limit_with_a_warning(cache: ContentCache, vault: Path) -> None:
    with open(vault / "a.md", "r+b") as file:
        file.truncate(1 << 30)
        file.seek(NOTE_BYTES_MAX - 1)
        file.write("é".encode())
    found = cache.read(A)
    assert isinstance(found, Note)
    assert len(found.text) == NOTE_BYTES_MAX - 1
    assert "\ufffd" not in found.text
    assert f"the first {NOTE_BYTES_MAX} were read" in " ".join(found.warnings)


@pytest.mark.fault(row=35)
@pytest.mark.parametrize(
    ("data", "expected", "warned"),
    [
        (b"", "", False),
        ("é\r\n".encode(), "é\r\n", False),
        (b"\xef\xbb\xbfx", "x", False),
        ("é𝄞".encode("utf-16"), "é𝄞", False),
        (b"\xfe\xff" + "é".encode("utf-16-be"), "é", False),
        (b"\xff\xfe\x00\xd8x\x00", "\ufffdx", True),
        (b"\xff\xfex", "\ufffd", True),
        (b"a\xffb", "a\ufffdb", True),
        (b"a\xc3", "a\ufffd", True),
        (b"a\0b", "a\0b", True),
        (b"\xed\xa0\x80", "\ufffd" * 3, True),
    ],
)
def test_any_bytes_become_text(data: bytes, expected: str, warned: bool) -> None:
    found, warnings = decode(data)
    assert found == expected
    assert bool(warnings) == warned
    found.encode()
