"""The blob store: content by its sha256, kept durably, verified when read."""

import errno
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journals import flipped
from support.profiles import examples
from support.simulated_disk import PowerCut, SimDisk

from workspaced_events.blobs.durable import DurableBlobStore, packed
from workspaced_events.errors import LogDamaged
from workspaced_events.log.disk import Disk, RealDisk, write_all

TEXT = "ein langer Text, αβγ\n".encode() * 500
NAME = sha256(TEXT).hexdigest()
PATH = f"blobs/{NAME[:2]}/{NAME}"


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return RealDisk(tmp_path) if request.param == "real" else SimDisk()


def test_keeps_a_blob_once_and_compressed(disk: Disk) -> None:
    store = DurableBlobStore(disk)
    for _ in range(3):
        store.put(TEXT)
    assert disk.names(f"blobs/{NAME[:2]}") == [NAME]
    kept = disk.read(PATH)
    assert len(kept) < len(TEXT) // 10
    assert (kept[:1], zlib.decompress(kept[1:])) == (b"z", TEXT)


@given(st.binary(max_size=3_000))
@settings(max_examples=examples(100))
def test_takes_any_bytes(content: bytes) -> None:
    store = DurableBlobStore(SimDisk())
    assert store.get(store.put(content)) == content


def test_never_gives_what_does_not_fit_its_name() -> None:
    disk = SimDisk()
    store = DurableBlobStore(disk)
    store.put(TEXT)
    kept = disk.read(PATH)
    for bit in range(len(kept) * 8):
        disk.overwrite(PATH, flipped(kept, bit))
        try:
            content = store.get(NAME)
        except LogDamaged as error:
            assert error.details["file"] == PATH
        else:
            assert content == TEXT  # a bit of the compressed form that decides nothing
    for changed_whole in (b"", b"z", b"x" + kept[1:], kept[:-8]):
        disk.overwrite(PATH, changed_whole)
        with pytest.raises(LogDamaged):
            store.get(NAME)


def test_is_durable_once_put_returns_and_whole_or_absent_before() -> None:
    whole = SimDisk()
    DurableBlobStore(whole).put(TEXT)
    for crash_at in range(1, whole.operations + 2):
        disk = SimDisk()
        disk.crash_at = crash_at
        put = False
        try:
            DurableBlobStore(disk).put(TEXT)
            put = True
        except PowerCut:
            pass
        for seed in range(8):
            survivor = disk.crash(seed)
            assert DurableBlobStore(survivor).get(NAME) in ((TEXT,) if put else (TEXT, None))
            assert DurableBlobStore(survivor).put(TEXT) == NAME
            assert DurableBlobStore(survivor.crash(seed)).get(NAME) == TEXT


@pytest.mark.parametrize("operation", ["open", "write", "sync", "rename", "sync_directory", "truncate"])
def test_is_durable_when_put_again_after_an_error(operation: str) -> None:
    """A name that only the page cache knows must not pass for a kept one."""
    disk = SimDisk()
    store = DurableBlobStore(disk)
    disk.faults = lambda asked, _name: OSError(errno.EIO, "no") if asked == operation else None
    with pytest.raises(OSError, match="no"):
        store.put(TEXT)
    disk.faults = lambda _operation, _name: None
    store.put(TEXT)
    assert [DurableBlobStore(disk.crash(seed)).get(NAME) for seed in range(16)] == [TEXT] * 16


@pytest.mark.fault(row=49)
@pytest.mark.parametrize(
    "damaged",
    [b"", b"z", packed(b"another text"), packed(TEXT)[:-8]],
    ids=["empty", "no content", "another text", "cut short"],
)
def test_what_lies_there_is_compared_at_first_and_written_anew(disk: Disk, damaged: bytes) -> None:
    DurableBlobStore(disk).put(TEXT)
    overwrite(disk, PATH, damaged)
    store = DurableBlobStore(disk)
    assert store.put(TEXT) == NAME
    assert store.get(NAME) == DurableBlobStore(disk).get(NAME) == TEXT


def test_a_text_that_is_put_again_is_synced_no_more() -> None:
    disk = SimDisk()
    DurableBlobStore(disk).put(TEXT)
    synced: list[str] = []
    disk.faults = lambda operation, name: synced.append(name) if operation.startswith("sync") else None
    store = DurableBlobStore(disk)
    for _ in range(3):
        store.put(TEXT)
    assert len(synced) == 1, "once, since another store may have failed to"


def overwrite(disk: Disk, name: str, data: bytes) -> None:
    file = disk.open(name)
    file.truncate(0)
    write_all(file, 0, data)
    file.close()
