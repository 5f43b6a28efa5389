"""Opening notes safely, and scanning a vault for them, files whose bytes are elsewhere among them."""

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.errors import NotDownloaded, ToolError
from workspaced_tools.limits import DIRECTORY_DEPTH_MAX, ECHO_CHARS_MAX
from workspaced_tools.notes.note import NoteFailure
from workspaced_tools.ports.questions import Resolve
from workspaced_tools.vault.files import safe_open
from workspaced_tools.vault.files.placeholders import is_dataless
from workspaced_tools.vault.files.safe_open import RootDirectory, VaultRoot, failed
from workspaced_tools.vault.files.walk import ScanReport, folders, scan

NFC, NFD = "\u00e9.md", "e\u0301.md"
keeps_names = pytest.mark.skipif(sys.platform == "darwin", reason="the file system normalises names")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    (path / "work").mkdir(parents=True)
    (path / "work" / "plan.md").write_text("plan")
    (path / "top.md").write_text("top")
    (path / "readme.txt").write_text("text")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (tmp_path / "vault-2").mkdir()
    (tmp_path / "vault-2" / "secret.md").write_text("secret")
    return path


@pytest.fixture
def root(vault: Path) -> Iterator[VaultRoot]:
    opened = VaultRoot(vault)
    yield opened
    opened.close()


def read(root: VaultRoot, note: str) -> str:
    descriptor = root.open_note(NoteId(note))
    try:
        return os.read(descriptor, 1000).decode()
    finally:
        os.close(descriptor)


def code(root: VaultRoot, note: str, held: RootDirectory | None = None) -> str:
    """The error's code, the same for opening and for stat; checks what a message may hold, and that a stat among
    others tells nothing."""
    with contextlib.suppress(ToolError):  # there may be no root
        assert root.stat_notes([NoteId(note)], held or root.directory()) == [None]
    with pytest.raises(ToolError) as opened:
        root.open_note(NoteId(note))
    with pytest.raises(ToolError) as seen:
        root.stat_note(NoteId(note))
    assert opened.value.code == seen.value.code
    assert str(root.path) not in str(opened.value)
    assert len(opened.value.message) < ECHO_CHARS_MAX + 100
    assert opened.value.hint
    return opened.value.code


def ids(root: VaultRoot, report: ScanReport | None = None) -> list[str]:
    return sorted(found.id for found in scan(root, report))


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.mark.parametrize(
    "path",
    [
        *["/etc/passwd.md", "/top.md", "..", "../outside/secret.md", "work/../top.md", "../vault-2/secret.md"],
        *["a\0.md", "top.md\0.txt", "/", "../" * 3_000 + "x.md"],
    ],
)
def test_no_stat_is_made_of_what_leads_out(root: VaultRoot, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("touched the disk")

    held = root.directory()
    for name in ("open", "stat", "lstat", "fstat"):
        monkeypatch.setattr(os, name, forbidden)
    try:
        assert code(root, path, held) == "OUTSIDE_VAULT"
    finally:
        monkeypatch.undo()


@pytest.mark.parametrize(
    "path",
    [
        *["", "./top.md", "work//plan.md", "work/", "top.md/x.md", "missing.md", "no/such.md", "top"],
        *[".hidden.md", ".obsidian/x.md", "top.md ", "%2e%2e/outside/secret.md", "..\\outside\\secret.md"],
        *["é/none.md", "\udcff.md", "~/x.md", "x" * 300 + ".md", "d/" * DIRECTORY_DEPTH_MAX + "x.md"],
    ],
)
def test_a_path_without_a_note_is_not_found(root: VaultRoot, path: str) -> None:
    assert code(root, path) == "NOTE_NOT_FOUND"


@pytest.mark.fault(row=32)
def test_symlinks_are_never_followed(root: VaultRoot, vault: Path) -> None:
    outside = vault.parent / "outside"
    links = {"file.md": outside / "secret.md", "inner.md": vault / "top.md", "dangling.md": vault / "none"}
    links |= {
        "loop.md": vault / "loop.md",
        "folder": outside,
        "work/up": Path(".."),
        "proc": Path("/proc/self/root"),
    }
    for link, target in links.items():
        (vault / link).symlink_to(target)
    reached = ("file.md", "inner.md", "dangling.md", "loop.md", "folder/secret.md", "work/up/top.md", "proc/x.md")
    assert {code(root, path) for path in reached} == {"SYMLINK"}
    report = ScanReport()
    assert ids(root, report) == ["top.md", "work/plan.md"]
    assert sorted(report.links) == sorted(links)
    assert msgspec.structs.replace(report, links=[]) == ScanReport()


def test_special_files_neither_block_nor_are_read_and_are_reported(root: VaultRoot, vault: Path) -> None:
    os.mkfifo(vault / "fifo.md")
    (vault / "folder.md").mkdir()
    (vault / "folder.md" / "inner.md").write_text("x")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(vault)  # A socket's path must be short.
        try:
            listener.bind("socket.md")
        finally:
            os.chdir(here)
    for path in ("fifo.md", "folder.md", "socket.md"):
        assert code(root, path) == "READ_ERROR"
    report = ScanReport()
    assert ids(root, report) == ["folder.md/inner.md", "top.md", "work/plan.md"]
    assert sorted(report.special) == ["fifo.md", "folder.md", "socket.md"]


def test_errors_and_successes_leave_no_descriptor_open(root: VaultRoot, vault: Path) -> None:
    os.mkfifo(vault / "fifo.md")
    (vault / "link").symlink_to("work")
    read(root, "top.md")
    before = open_descriptors()
    paths = ("work/plan.md", "work/none.md", "é/none.md", "work/é.md", "link/plan.md", "fifo.md", "top.md/x.md")
    for path in paths:
        with contextlib.suppress(ToolError):
            read(root, path)
    assert next(scan(root)).stat.size
    folders(root)
    root.is_folder("work")
    assert open_descriptors() == before


def test_a_replaced_root_is_noticed_and_an_absent_one_is_an_error(root: VaultRoot, vault: Path) -> None:
    identity = root.identity()
    vault.rename(vault.parent / "moved")
    assert code(root, "top.md") == "READ_ERROR"
    assert root.identity() is None
    vault.mkdir()
    (vault / "new.md").write_text("new")
    assert read(root, "new.md") == "new"
    assert code(root, "top.md") == "NOTE_NOT_FOUND"
    assert root.identity() not in (identity, None)
    root.close()
    assert code(root, "new.md") == "READ_ERROR"


@keeps_names
def test_a_decomposed_name_is_reached_by_its_nfc_id_with_and_without_a_scan(vault: Path) -> None:
    folder = vault / "cafe\u0301"
    folder.mkdir()
    (folder / NFD).write_text("decomposed")
    fresh = VaultRoot(vault)
    assert read(fresh, f"caf\u00e9/{NFC}") == "decomposed"
    assert code(fresh, "caf\u00e9/\u00e0.md") == "NOTE_NOT_FOUND"
    found = {note.id: note for note in scan(fresh)}[NoteId(f"caf\u00e9/{NFC}")]
    assert found.raw_path == f"cafe\u0301/{NFD}"
    fresh.close()


@keeps_names
def test_of_names_that_differ_in_normalisation_the_nfc_one_owns_the_id(root: VaultRoot, vault: Path) -> None:
    for path in (NFC, NFD, "\u00e9/a.md", "e\u0301/b.md", "\u212a.md"):  # the last one is the sign of kelvin
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(path)
    report = ScanReport()
    assert {NFC, NFD, "K.md", "\u00e9/a.md", "\u00e9/b.md"} <= set(ids(root, report))
    assert report.same_name == [NFD]
    assert (read(root, NFC), read(root, NFD), read(root, "K.md")) == (NFC, NFD, "\u212a.md")
    assert read(root, "\u00e9/b.md") == "e\u0301/b.md"


@pytest.mark.fault(row=35)
@keeps_names
def test_names_that_are_not_utf8_are_no_notes_and_are_reported(root: VaultRoot, vault: Path) -> None:
    with open(os.fsencode(vault) + b"/bad\xff.md", "w"):
        pass
    os.mkdir(os.fsencode(vault) + b"/dir\xfe")
    with open(os.fsencode(vault) + b"/dir\xfe/x.md", "w"):
        pass
    report = ScanReport()
    assert ids(root, report) == ["top.md", "work/plan.md"]
    assert sorted(report.undecodable) == ["bad\\udcff.md", "dir\\udcfe"]


def test_depth_is_cut_at_the_limit_and_the_deepest_note_opens(root: VaultRoot, vault: Path) -> None:
    for depth in (DIRECTORY_DEPTH_MAX - 1, DIRECTORY_DEPTH_MAX, 2 * DIRECTORY_DEPTH_MAX):
        (vault / ("d/" * depth)).mkdir(parents=True, exist_ok=True)
        (vault / ("d/" * depth) / "x.md").touch()
    before = open_descriptors()
    report = ScanReport()
    deepest = "d/" * (DIRECTORY_DEPTH_MAX - 1) + "x.md"
    assert ids(root, report) == [deepest, "top.md", "work/plan.md"]
    assert report.too_deep == ["/".join("d" * DIRECTORY_DEPTH_MAX)]
    assert open_descriptors() <= before + 1
    assert (read(root, deepest), code(root, f"d/{deepest}")) == ("", "NOTE_NOT_FOUND")


def test_folders_are_those_a_scan_enters_and_never_behind_a_symlink(root: VaultRoot, vault: Path) -> None:
    (vault / ".obsidian" / "inner").mkdir(parents=True)
    (vault / "work" / "deep.md").mkdir()
    (vault / "link").symlink_to(vault.parent / "outside")
    os.mkdir(os.fsencode(vault) + b"/bad\xff")
    assert sorted(folders(root)) == ["", "work", "work/deep.md"]
    assert root.is_folder("work") and root.is_folder("work/deep.md")
    for path in ("", "/", "..", "top.md", "none", "link", ".obsidian", "a\0", "work//deep.md"):
        assert not root.is_folder(path), path


A = NoteId("a.md")


def test_a_dataless_file_of_macos_is_known_by_its_flag_and_by_a_read_that_is_given_up(vault: Path) -> None:
    assert not is_dataless((vault / "top.md").stat())
    assert not is_dataless(cast(os.stat_result, SimpleNamespace(st_flags=0x20)))  # compressed
    assert is_dataless(cast(os.stat_result, SimpleNamespace(st_flags=0x4000_0020)))
    assert failed("a.md", OSError(errno.EDEADLK, "Resource deadlock avoided")).code == NotDownloaded.code
    assert failed("a.md", OSError(errno.EIO, "")).code == "READ_ERROR"


def test_a_dataless_note_is_named_where_it_was_shown_and_else_is_missing(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = make_vault({A: "# Title\n"})
    assert not shown.look_at(A)
    monkeypatch.setattr(safe_open, "is_dataless", lambda _status: True)  # this system has no such files
    (shown.root.path / A).touch()
    shown.reconcile()
    for vault, expected in ((shown, NotDownloaded.code), (make_vault({A: "# Title\n"}), "NOTE_NOT_FOUND")):
        [found] = vault.notes.read([A])
        assert isinstance(found, NoteFailure) and found.code == expected
        names = [vault.ask(Resolve(name), EMPTY_VAULT).note is not None for name in ("a", "Title")]
        assert names == [vault is shown] * 2
