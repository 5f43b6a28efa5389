"""What agents were served: kept once, whole or not at all, and forgotten within bounds."""

import os
import threading
import time
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_events.blobs.durable import DurableBlobStore
from workspaced_events.blobs.evictable import EvictableBlobStore, Swept
from workspaced_events.log.disk import RealDisk

HOUR_NS = 3_600 * 10**9


def place(data: Path, name: str) -> Path:
    return data / "served" / name[:2] / name


def age(data: Path, name: str, ns: int) -> None:
    """Makes a blob look as if it was last kept so long ago."""
    at = time.time_ns() - ns
    os.utime(place(data, name), ns=(at, at))


def age_of(data: Path, name: str) -> int:
    return time.time_ns() - place(data, name).stat().st_mtime_ns


def names(data: Path) -> set[str]:
    return {path.name for path in (data / "served").rglob("*") if path.is_file()}


# -- keeping --


@given(content=st.binary(max_size=3_000))
def test_any_bytes_come_back_under_their_sha256(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("served")
    name = EvictableBlobStore(data).keep(content)
    assert name == sha256(content).hexdigest()
    assert EvictableBlobStore(data).get(name) == content


def test_equal_contents_are_one_file(tmp_path: Path) -> None:
    blobs = EvictableBlobStore(tmp_path)
    assert {blobs.keep(b"same") for _ in range(3)} == names(tmp_path)
    assert (blobs.written, blobs.written_bytes) == (1, place(tmp_path, blobs.keep(b"same")).stat().st_size)


@pytest.mark.parametrize(
    "found",
    [
        b"",
        b"z",
        zlib.compress(b"told"),
        b"z" + zlib.compress(b"told")[:-4],
        b"z" + zlib.compress(b"else"),
        b"\0" * 40,
    ],
)
def test_a_file_that_is_not_whole_is_none_and_is_written_again(tmp_path: Path, found: bytes) -> None:
    """Nothing is synced: after the power was lost a file may be anything."""
    name = EvictableBlobStore(tmp_path).keep(b"told")
    place(tmp_path, name).write_bytes(found)
    blobs = EvictableBlobStore(tmp_path)
    assert blobs.get(name) is None
    assert blobs.keep(b"told") == name
    assert blobs.get(name) == b"told" and names(tmp_path) == {name}


def test_keeping_again_counts_as_use_after_an_hour(tmp_path: Path) -> None:
    blobs = EvictableBlobStore(tmp_path)
    name = blobs.keep(b"told")
    for store in (blobs, EvictableBlobStore(tmp_path)):
        age(tmp_path, name, HOUR_NS // 2)
        store.keep(b"told")
        assert age_of(tmp_path, name) >= HOUR_NS // 2
        age(tmp_path, name, 2 * HOUR_NS)
        store.keep(b"told")
        assert age_of(tmp_path, name) < HOUR_NS // 2


# -- forgetting --


@given(ages_s=st.lists(st.integers(0, 400), min_size=1, max_size=12), room=st.integers(0, 13), lengths=st.data())
def test_of_many_the_last_used_stay_and_fit(
    ages_s: list[int], room: int, lengths: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("served")
    blobs = EvictableBlobStore(data)
    kept = [blobs.keep(os.urandom(lengths.draw(st.integers(1, 200)))) for _ in ages_s]
    for name, seconds in zip(kept, ages_s, strict=True):
        age(data, name, seconds * 10**9)
    used = {name: (place(data, name).stat().st_mtime_ns, name) for name in kept}
    size = {name: place(data, name).stat().st_size for name in kept}
    bytes_max = sum(size.values()) * room // 13
    expected = blobs.sweep(bytes_max, 1)
    left = names(data)
    gone = set(kept) - left
    assert sum(size[name] for name in left) == expected.kept_bytes <= bytes_max
    assert (len(left), len(gone)) == (expected.kept, expected.removed)
    if gone:
        last_gone = max(gone, key=used.__getitem__)
        assert all(used[name] > used[last_gone] for name in left)
        assert expected.kept_bytes + size[last_gone] > bytes_max
    assert blobs.sweep(bytes_max, 1) == Swept(expected.kept, expected.kept_bytes, 0, 0)


def test_half_written_files_go_after_an_hour(tmp_path: Path) -> None:
    blobs = EvictableBlobStore(tmp_path)
    name = blobs.keep(b"told")
    old, young = (place(tmp_path, name).with_name(f"{char * 64}.tmp") for char in "ab")
    for path in (old, young):
        path.write_bytes(b"z")
    two_hours_ago = time.time_ns() - 2 * HOUR_NS
    os.utime(old, ns=(two_hours_ago, two_hours_ago))
    assert blobs.sweep(10**9, 1).kept == 1
    assert names(tmp_path) == {name, young.name}


def test_nothing_but_served_blobs_is_ever_removed(tmp_path: Path) -> None:
    """Not what the log consists of, not a stranger's file, nothing behind a symlink."""
    disk = RealDisk(tmp_path / "data")
    text = DurableBlobStore(disk).put(b"a long selection")
    data = tmp_path / "data"
    name = EvictableBlobStore(data).keep(b"told")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ("c" * 64)).write_bytes(b"mine")
    (data / "served" / "cc").symlink_to(elsewhere)
    strangers = [data / "served" / "README", place(data, name).with_name("notes.txt")]
    for path in strangers:
        path.write_text("mine")
    place(data, name).with_name("d" * 64).mkdir()
    assert EvictableBlobStore(data).sweep(0, 0).removed == 1
    assert DurableBlobStore(disk).get(text) == b"a long selection"
    assert all(path.exists() for path in (*strangers, elsewhere / ("c" * 64)))


def test_sweeping_beside_a_writer_never_disturbs_it(tmp_path: Path) -> None:
    """Whatever is gone can be written again; what is there is whole."""
    done = threading.Event()
    failures: list[BaseException] = []

    def sweep() -> None:
        store = EvictableBlobStore(tmp_path)
        try:
            while not done.is_set():
                store.sweep(2_000, 1)
        except BaseException as failure:
            failures.append(failure)

    sweepers = [threading.Thread(target=sweep) for _ in range(2)]
    for each in sweepers:
        each.start()
    blobs = EvictableBlobStore(tmp_path)
    contents = [bytes([number]) * 300 + os.urandom(100) for number in range(40)]
    try:
        for _ in range(25):
            for content in contents:
                name = blobs.keep(content)
                assert blobs.get(name) in (content, None)
    finally:
        done.set()
        for each in sweepers:
            each.join()
    assert failures == []
    for content in contents:
        blobs.keep(content)
    assert all(blobs.get(sha256(content).hexdigest()) == content for content in contents)
