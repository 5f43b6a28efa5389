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

from workspaced_events.blobs.durable import DurableBlobs, DurableBlobStore, packed
from workspaced_events.blobs.packs import Pack
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


TEXTS = [f"the text number {number} ".encode() * (1 + number % 3) for number in range(6)]
NAMES = [sha256(text).hexdigest() for text in TEXTS]


def packed_in(store: DurableBlobStore, texts: list[bytes] = TEXTS) -> Pack:
    pack = store.pack(texts)
    assert pack is not None
    store.add(pack)
    return pack


def read(disk: Disk, texts: list[bytes] = TEXTS) -> list[bytes | None]:
    store = DurableBlobs(disk)
    return [store.get(sha256(text).hexdigest()) for text in texts]


def test_texts_of_a_pack_are_read_as_any_others(disk: Disk) -> None:
    store = DurableBlobStore(disk)
    packed_in(store)
    assert disk.names("blobs") == ["packs"]
    assert [store.get(name) for name in NAMES] == TEXTS
    assert [DurableBlobStore(disk).get(name) for name in NAMES] == TEXTS
    assert read(disk) == TEXTS
    assert all(map(store.has, NAMES)) and store.get(sha256(b"").hexdigest()) is None


def test_many_texts_cost_two_syncs() -> None:
    disk = SimDisk()
    store = DurableBlobStore(disk)
    synced: list[str] = []
    disk.faults = lambda operation, name: synced.append(name) if operation.startswith("sync") else None
    packed_in(store, [b"%d" % number for number in range(200)])
    assert len(synced) == 2, "of the file and of its folder"
    for number in range(200):
        store.put(b"%d" % number)
    assert len(synced) == 2, "what is packed is stored"


def test_a_pack_is_found_once_it_is_added_and_never_after_it_is_removed(disk: Disk) -> None:
    store = DurableBlobStore(disk)
    pack = store.pack(TEXTS)
    assert pack is not None
    assert store.get(NAMES[0]) is None and not store.has(NAMES[0])
    store.add(pack)
    assert store.get(NAMES[0]) == TEXTS[0]
    store.packs.remove(pack)
    assert store.get(NAMES[0]) is None and not store.has(NAMES[0])
    assert disk.names("blobs/packs") == []
    store.put(TEXTS[0])
    assert store.get(NAMES[0]) == TEXTS[0]


def test_of_two_packs_with_one_text_either_may_be_removed(disk: Disk) -> None:
    for removed in (0, 1):
        store = DurableBlobStore(disk)
        packs = [store.pack(TEXTS), store.pack(TEXTS)]
        added, dropped = packs[1 - removed], packs[removed]
        assert added is not None and dropped is not None and added.path != dropped.path
        store.add(added)
        store.add(dropped)
        store.packs.remove(dropped)
        assert [store.get(name) for name in NAMES] == read(disk) == TEXTS
        store.packs.remove(added)


@pytest.mark.fault(row=49)
@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["alone", "packed"])
def test_is_durable_once_written_and_whole_or_absent_before(texts: list[bytes]) -> None:
    def write(disk: Disk) -> None:
        store = DurableBlobStore(disk)
        if (pack := store.pack(texts)) is not None:
            store.add(pack)
        for text in texts:
            store.put(text)

    whole = SimDisk()
    write(whole)
    for crash_at in range(1, whole.operations + 2):
        disk = SimDisk()
        disk.crash_at = crash_at
        written = False
        try:
            write(disk)
            written = True
        except PowerCut:
            pass
        for seed in range(8):
            survivor = disk.crash(seed)
            assert read(survivor, texts) in ((texts,) if written else (texts, [None] * len(texts)))
            write(survivor)
            assert read(survivor.crash(seed), texts) == texts


@pytest.mark.parametrize("operation", ["open", "write", "sync", "rename", "sync_directory"])
def test_nothing_is_left_of_a_pack_that_could_not_be_written(operation: str) -> None:
    disk = SimDisk()
    store = DurableBlobStore(disk)
    disk.faults = lambda asked, name: OSError(errno.EIO, "no") if asked == operation and "packs" in name else None
    with pytest.raises(OSError, match="no"):
        store.pack(TEXTS)
    disk.faults = lambda _operation, _name: None
    assert disk.names("blobs/packs") == []
    packed_in(store)
    assert read(disk.crash(1)) == TEXTS


@pytest.mark.fault(row=49)
def test_a_flipped_bit_costs_one_text_at_most_and_never_gives_another() -> None:
    disk = SimDisk()
    path = packed_in(DurableBlobStore(disk)).path
    kept = disk.read(path)
    for bit in range(len(kept) * 8):
        disk.overwrite(path, flipped(kept, bit))
        store, lost = DurableBlobs(disk), 0
        for name, text in zip(NAMES, TEXTS, strict=True):
            trouble = store.trouble(name, 7)
            if trouble is None:
                assert store.get(name) == text
            else:
                assert (trouble.file, trouble.problem, trouble.seq) == (path, "damaged", 7)
                lost += 1
        assert lost <= 1


def test_of_a_pack_cut_short_the_texts_before_the_cut_are_read() -> None:
    disk = SimDisk()
    pack = packed_in(DurableBlobStore(disk))
    kept = disk.read(pack.path)
    ends = [member.offset + member.size for member in pack.members.values()]
    for size in range(len(kept)):
        disk.overwrite(pack.path, kept[:size])
        whole = [text if end <= size else None for text, end in zip(TEXTS, ends, strict=True)]
        assert read(disk) == whole


def test_a_text_that_is_damaged_in_its_pack_is_written_anew_when_it_is_put(disk: Disk) -> None:
    pack = packed_in(DurableBlobStore(disk))
    file = disk.open(pack.path)
    file.write_at(pack.members[NAMES[1]].offset + 4, b"damaged")
    file.close()
    store = DurableBlobStore(disk)
    store.examine({NAMES[1]: 3})
    assert [(each.file, each.problem) for each in store.troubles] == [(pack.path, "damaged")]
    with pytest.raises(LogDamaged, match="packs"):
        store.get(NAMES[1])
    assert store.put(TEXTS[1]) == NAMES[1]
    assert store.troubles == []
    assert read(disk) == TEXTS
    assert disk.read(f"blobs/{NAMES[1][:2]}/{NAMES[1]}") == packed(TEXTS[1])


def test_a_pack_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    path = tmp_path / packed_in(DurableBlobStore(disk)).path
    path.unlink()
    path.mkdir()
    store = DurableBlobs(disk)
    trouble = store.trouble(NAMES[0], 1)
    assert trouble is not None and trouble.problem == "unreadable"
    assert DurableBlobStore(disk).put(TEXTS[0]) == NAMES[0]
    assert store.get(NAMES[0]) == TEXTS[0]
