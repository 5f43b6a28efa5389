"""What the log relies on from a `Disk`: one suite, run over the real disk and the simulated one."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.simulated_disk import SECTOR_BYTES, SimDisk

from workspaced_events.log.disk import Disk, DiskFile, RealDisk, write_all, write_whole

EIO = OSError(errno.EIO, "Input/output error")


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    made: Disk = RealDisk(tmp_path) if request.param == "real" else SimDisk()
    made.make_directory("log")
    return made


def put(disk: Disk, name: str, data: bytes) -> None:
    file = disk.open(name, create=True)
    write_all(file, 0, data)
    file.sync()
    file.close()


class TestEveryDisk:
    def test_lists_what_lies_in_a_directory_and_not_below_it(self, disk: Disk) -> None:
        disk.make_directory("log/sub")
        put(disk, "log/sub/deep", b"")
        put(disk, "log/a", b"")
        assert disk.names("log") == ["a", "sub"]

    def test_reads_what_was_written(self, disk: Disk) -> None:
        put(disk, "log/a", b"0123456789")
        assert disk.read("log/a") == b"0123456789"
        assert disk.read("log/a", 3) == b"3456789"
        assert disk.read("log/a", 3, 4) == b"3456"
        assert disk.read("log/a", 8, 100) == b"89"
        assert disk.read("log/a", 0, 0) == b""
        assert disk.read("log/a", 50) == b""

    def test_writes_in_the_middle_at_the_end_and_beyond_where_a_hole_reads_as_zeros(self, disk: Disk) -> None:
        put(disk, "log/a", b"0123456789")
        file = disk.open("log/a")
        assert file.write_at(2, b"xy") == 2
        assert file.write_at(9, b"zz") == 2
        assert file.write_at(13, b"c") == 1
        file.close()
        assert disk.read("log/a") == b"01xy45678zz\0\0c"

    @pytest.mark.parametrize(("size", "left"), [(0, b""), (2, b"ab"), (3, b"abc"), (5, b"abc\0\0")])
    def test_truncates_and_extends(self, disk: Disk, size: int, left: bytes) -> None:
        put(disk, "log/a", b"abc")
        file = disk.open("log/a")
        file.truncate(size)
        file.close()
        assert disk.read("log/a") == left

    def test_what_was_cut_off_does_not_come_back_in_a_hole(self, disk: Disk) -> None:
        put(disk, "log/a", b"secret")
        file = disk.open("log/a")
        file.truncate(1)
        file.write_at(4, b"x")
        file.sync()
        file.close()
        assert disk.read("log/a") == b"s\0\0\0x"

    def test_renames_over_another_file(self, disk: Disk) -> None:
        put(disk, "log/a", b"new")
        put(disk, "log/b", b"old")
        disk.rename("log/a", "log/b")
        disk.sync_directory("log")
        assert (disk.names("log"), disk.read("log/b")) == (["b"], b"new")

    def test_an_open_file_goes_on_after_its_name_is_taken(self, disk: Disk) -> None:
        put(disk, "log/a", b"old")
        put(disk, "log/b", b"new")
        file = disk.open("log/a")
        disk.rename("log/b", "log/a")
        file.write_at(0, b"lost")
        file.sync()
        file.close()
        assert disk.read("log/a") == b"new"

    @pytest.mark.parametrize(
        "touch",
        [
            lambda disk: disk.read("log/none"),
            lambda disk: disk.open("log/none"),
            lambda disk: disk.rename("log/none", "log/other"),
            lambda disk: disk.remove("log/none"),
        ],
        ids=["read", "open", "rename", "remove"],
    )
    def test_says_file_not_found(self, disk: Disk, touch: Callable[[Disk], object]) -> None:
        with pytest.raises(FileNotFoundError):
            touch(disk)
        assert disk.names("log") == []

    def test_write_whole_makes_and_replaces_a_file_and_leaves_nothing_aside(self, disk: Disk) -> None:
        put(disk, "log/a.tmp", b"left over from a crash, and longer")
        write_whole(disk, "log/a", b"one")
        assert (disk.names("log"), disk.read("log/a")) == (["a"], b"one")
        write_whole(disk, "log/a", b"")
        assert (disk.names("log"), disk.read("log/a")) == (["a"], b"")

    def test_write_all_goes_on_after_short_writes_until_nothing_goes_in(self, disk: Disk) -> None:
        file = disk.open("log/a", create=True)
        write_all(short(file, 3), 2, b"0123456789")
        file.close()
        assert disk.read("log/a") == b"\0\x000123456789"
        file = disk.open("log/a", create=True)
        with pytest.raises(OSError, match="No space") as caught:
            write_all(short(file, 0), 0, b"x")
        file.close()
        assert caught.value.errno == errno.ENOSPC


def short(file: DiskFile, most: int) -> Any:
    """A file that takes at most `most` bytes a write."""
    return SimpleNamespace(write_at=lambda offset, data: file.write_at(offset, data[:most]))


class TestRealDisk:
    def test_makes_files_and_directories_for_the_owner_alone(self, tmp_path: Path) -> None:
        disk = RealDisk(tmp_path)
        disk.make_directory("log")
        write_whole(disk, "log/a", b"")
        assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "log/a").stat().st_mode) == 0o600

    def test_writes_through_no_symlink(self, tmp_path: Path) -> None:
        disk = RealDisk(tmp_path)
        (tmp_path / "victim").write_bytes(b"safe")
        (tmp_path / "a").symlink_to("victim")
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            disk.open("a", create=True)

    def test_hands_no_descriptor_to_children(self, tmp_path: Path) -> None:
        file = RealDisk(tmp_path).open("a", create=True)
        inheritable = [os.get_inheritable(each) for each in descriptors_of(tmp_path / "a")]
        file.close()
        assert inheritable == [False]


def descriptors_of(path: Path) -> list[int]:
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if os.path.samestat(os.fstat(int(name)), path.stat()):
                found.append(int(name))
        except OSError:
            continue  # the one that listed the directory
    return found


def survivors(disk: SimDisk, name: str, seeds: int = 64) -> set[bytes | None]:
    """What a power cut now may leave of a file."""
    left: set[bytes | None] = set()
    for seed in range(seeds):
        try:
            left.add(disk.crash(seed).read(name))
        except FileNotFoundError:
            left.add(None)
    return left


class TestSimDisk:
    """The simulated disk must be as bad as a real one, or the tests above it prove nothing."""

    def test_may_lose_a_name_that_was_not_synced(self) -> None:
        disk = SimDisk()
        put(disk, "log/a", b"x")
        assert survivors(disk, "log/a") == {b"x", None}

    def test_may_lose_tear_and_reorder_what_was_not_synced(self) -> None:
        disk = SimDisk()
        put(disk, "log/a", b"")
        disk.sync_directory("log")
        file = disk.open("log/a")
        file.write_at(0, b"x" * SECTOR_BYTES * 2)
        x, hole = b"x" * SECTOR_BYTES, bytes(SECTOR_BYTES)
        assert survivors(disk, "log/a") == {b"", x + x, hole + hole, x + hole, hole + x}

    def test_may_undo_a_rename_whose_directory_was_not_synced(self) -> None:
        disk = SimDisk()
        put(disk, "log/a", b"old")
        disk.sync_directory("log")
        put(disk, "log/a.tmp", b"new")
        disk.rename("log/a.tmp", "log/a")
        assert survivors(disk, "log/a") == {b"old", b"new"}

    def test_a_failed_sync_loses_the_bytes_and_the_next_one_succeeds_without_them(self) -> None:
        disk = SimDisk()
        put(disk, "log/a", b"ab")
        disk.sync_directory("log")
        file = disk.open("log/a")
        file.write_at(2, b"cd")
        disk.faults = lambda operation, _name: EIO if operation == "sync" else None
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        assert survivors(disk, "log/a") >= {b"ab", b"abcd"}
        disk.faults = lambda _operation, _name: None
        file.write_at(4, b"ef")
        file.sync()
        assert disk.read("log/a") == b"abcdef"
        assert survivors(disk, "log/a") == {b"ab\0\0ef"}

    def test_takes_what_fits_and_then_says_no_space(self) -> None:
        disk = SimDisk()
        file = disk.open("log/a", create=True)
        disk.free_bytes = 3
        assert file.write_at(0, b"abcde") == 3
        with pytest.raises(OSError, match="No space"):
            file.write_at(3, b"de")
        file.truncate(1)
        assert file.write_at(0, b"xyz!") == 3
