"""Nothing outside the memory folder is read or written, whatever is named and whatever is swapped for a link."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from workspaced_events.errors import WorkspacedError
from workspaced_tools import errors as errors
from workspaced_tools.memory.commands import plan
from workspaced_tools.memory.folder import Change
from workspaced_tools.memory.shared_folder import SharedFolder
from workspaced_tools.ports.questions import UseMemory

SECRET = "The passphrase is xyzzy."
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("view", {}),
    ("create", {"text": "mine"}),
    ("str_replace", {"old": "xyzzy", "text": "mine"}),
    ("insert", {"text": "mine"}),
    ("delete", {}),
    ("rename", {"to": "/memories/moved.md"}),
]
PATHS = [
    *["", "/", "plan.md", "memories/plan.md", "/memory/plan.md", "/memoriesplan.md", "/etc/passwd"],
    *["/memories/../secret.md", "/memories/../../secret.md", "/memories/work/../../secret.md"],
    *["/memories/..", "/memories/./plan.md", "/memories//secret.md", "/memories//etc/passwd"],
    *["/memories/%2e%2e/secret.md", "/memories/%2E%2E%2Fsecret.md", "/memories/..%2fsecret.md"],
    *["/memories/..\\secret.md", "/memories/\\\\host\\share", "/memories/plan.md\0.txt"],
    *["/memories/plan\n.md", "/memories/plan\x1b[2J.md", "/memories/\u202egpj.md"],
    *["/memories/a\u200bb.md", "/memories/\udcff.md", "/memories/.hidden", "/memories/.workspacedignore"],
    *["/memories/.git/config", "/memories/work/.obsidian/plugins.json", "/memories/plan.md "],
    *["/memories/ plan.md", "/memories/plan.", "/memories/" + "x" * 300, "/memories/" + "ü" * 200],
    *["/memories/" + "a/" * 300 + "b.md", "/memories/" + "a/" * 20 + "b.md", "/memories/\u3164.md"],
    *["/memories/\u2800.md", "/memories/plan\ufe0f.md", "/memories/a\u115fb.md"],
]


@pytest.fixture
def secret(vault: Path) -> Path:
    """A note of the vault beside the memory folder."""
    (vault / "Memory" / "work").mkdir(parents=True)
    made = vault / "secret.md"
    made.write_text(SECRET)
    return made


@pytest.mark.fault(row=65)
@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_could_lead_out_is_refused(use: Any, secret: Path, vault: Path, path: str) -> None:
    for command, more in COMMANDS:
        with pytest.raises(errors.ArgumentInvalid) as raised:
            use(command, path, **more)
        assert SECRET not in str(raised.value) and len(str(raised.value)) < 500
    assert sorted(os.listdir(vault)) == ["Memory", "secret.md"]
    assert os.listdir(vault / "Memory") == ["work"] and not os.listdir(vault / "Memory" / "work")
    use("create", "/memories/plan.md", text="one")
    with pytest.raises(errors.ArgumentInvalid):
        use("rename", "/memories/plan.md", to=path)
    assert secret.read_text() == SECRET and use("view", "/memories/plan.md").text == "one"


def _socket(path: Path, _secret: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


THINGS: dict[str, Callable[[Path, Path], None]] = {
    "symlink": lambda path, secret: path.symlink_to(secret),
    "dangling": lambda path, secret: path.symlink_to(secret.with_name("made-by-agent.md")),
    "hard link": lambda path, secret: os.link(secret, path),
    "fifo": lambda path, _secret: os.mkfifo(path),
    "socket": _socket,
}


@pytest.mark.fault(row=65)
@pytest.mark.parametrize("kind", THINGS)
def test_no_other_file_is_read_or_written(use: Any, secret: Path, vault: Path, kind: str) -> None:
    thing = vault / "Memory" / "thing.md"
    THINGS[kind](thing, secret)
    before = os.lstat(thing)
    for command, more in COMMANDS:
        with pytest.raises(errors.MemoryPathUnusable) as raised:
            use(command, "/memories/thing.md", **more)
        assert SECRET not in str(raised.value)
    assert use("view", "/memories").files == ()
    use("create", "/memories/plan.md", text="one")
    with pytest.raises(errors.MemoryPathUnusable):
        use("rename", "/memories/plan.md", to="/memories/thing.md")
    assert secret.read_text() == SECRET and os.lstat(thing).st_ino == before.st_ino
    assert not (vault / "made-by-agent.md").exists()


@pytest.mark.fault(row=65)
@pytest.mark.parametrize("place", ["Memory", "Memory/work"])
def test_a_linked_folder_is_not_entered(use: Any, secret: Path, vault: Path, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(SECRET)
    (vault / "Memory" / "work").rmdir()
    if place == "Memory":
        (vault / "Memory").rmdir()
    (vault / place).symlink_to(outside)
    path = f"/memories/{place.removeprefix('Memory').lstrip('/')}/secret.md".replace("//", "/")
    for command, more in COMMANDS:
        with pytest.raises(errors.MemoryPathUnusable):
            use(command, path, **more)
    assert os.listdir(outside) == ["secret.md"] and (outside / "secret.md").read_text() == SECRET


def test_a_file_where_a_folder_should_be_is_no_folder(use: Any, vault: Path) -> None:
    use("create", "/memories/plan.md", text="xyzzy")
    use("create", "/memories/work/plan.md", text="xyzzy")
    for command, more in COMMANDS[1:4]:
        with pytest.raises(errors.MemoryPathUnusable):
            use(command, "/memories/plan.md/inner.md", **more)
        with pytest.raises(WorkspacedError):
            use(command, "/memories/work", **more)
    assert (vault / "Memory" / "work" / "plan.md").read_text() == "xyzzy"


@contextmanager
def swapping(path: Path, outside: Path) -> Iterator[None]:
    """Swaps a folder for a link to `outside` and back, as fast as it goes."""
    ended = threading.Event()
    aside = path.with_name("aside")

    def swap() -> None:
        while not ended.is_set():
            with suppress(OSError):
                path.rename(aside)
                path.symlink_to(outside)
                path.unlink()
                aside.rename(path)
            if aside.is_dir() and not path.exists():
                with suppress(OSError):
                    aside.rename(path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.thorough
@pytest.mark.fault(row=65)
@pytest.mark.parametrize("place", ["Memory", "Memory/work"])
def test_swapping_a_folder_for_a_link_leads_nowhere(use: Any, vault: Path, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    (outside / "work").mkdir(parents=True)
    for name in ("plan.md", "work/plan.md"):
        (outside / name).write_text(SECRET)
    use("create", "/memories/work/plan.md", text="one")
    with swapping(vault / place, outside):
        for round_ in range(300):
            with suppress(WorkspacedError):
                assert SECRET not in (use("view", "/memories/work/plan.md").text or "")
            with suppress(WorkspacedError):
                use("create", f"/memories/work/new-{round_}.md", text="mine")
            with suppress(WorkspacedError):
                use("delete", f"/memories/work/new-{round_}.md")
    names = sorted(str(each.relative_to(outside)) for each in outside.rglob("*"))
    assert names == ["plan.md", "work", "work/plan.md"]
    assert {(outside / name).read_text() for name in ("plan.md", "work/plan.md")} == {SECRET}


RACES = [
    (Change(("plan.md",), b"one", b"two"), "theirs"),
    (Change(("plan.md",), b"one", None), "theirs"),
    (Change(("plan.md",), b"one", b"two"), None),
    (Change(("new.md",), b"one", b"one", ("plan.md",)), "theirs"),
]


@pytest.mark.fault(row=65)
@pytest.mark.parametrize(("change", "theirs"), RACES)
def test_a_file_that_changed_after_it_was_read_stays_as_it_is(
    use: Any, folder: SharedFolder, vault: Path, change: Change, theirs: str | None
) -> None:
    use("create", "/memories/plan.md", text="one")
    file = vault / "Memory" / "plan.md"
    if theirs is None:
        file.unlink()
    else:
        file.write_text(theirs)
    with pytest.raises(errors.MemoryChanged):
        folder.folder.apply(change)
    assert (file.read_text() if file.exists() else None) == theirs
    assert [name for name in os.listdir(vault / "Memory") if name != "plan.md"] == []


def test_a_name_that_someone_took_meanwhile_is_not_replaced(use: Any, folder: SharedFolder, vault: Path) -> None:
    use("create", "/memories/plan.md", text="one")
    (vault / "Memory" / "new.md").write_text("theirs")
    for change in (Change(("new.md",), None, b"mine"), Change(("new.md",), b"one", b"one", ("plan.md",))):
        with pytest.raises(errors.MemoryChanged):
            folder.folder.apply(change)
    assert (vault / "Memory" / "new.md").read_text() == "theirs"
    assert sorted(os.listdir(vault / "Memory")) == ["new.md", "plan.md"]


def test_a_folder_of_files_nobody_could_name_is_empty(use: Any, vault: Path) -> None:
    (vault / "Memory").mkdir()
    for name in (b"\xff.md", b".hidden", b"a%2fb.md", "\u202egpj.md".encode(), b" blank"):
        (vault / "Memory" / os.fsdecode(name)).write_text(SECRET)
    assert use("view", "/memories").files == ()
    with pytest.raises(errors.MemoryNotFound):
        use("view", "/memories/gpj.md")


def test_what_the_disk_refuses_changes_nothing(
    use: Any, folder: SharedFolder, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("create", "/memories/a.md", text="one")

    def refuses(*_given: Any) -> int:
        raise OSError(28, "No space left on device")

    for call, change in (
        ("write", Change(("deep", "deeper", "a.md"), None, b"one")),
        ("fsync", Change(("b.md",), b"one", b"one", ("a.md",))),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(os, call, refuses)
            with pytest.raises(errors.MemoryWriteFailed):
                folder.folder.apply(change)
        assert os.listdir(vault / "Memory") == ["a.md"]


def test_a_name_of_an_outside_file_that_goes_while_it_is_read_shows_nothing_of_it(
    folder: SharedFolder, secret: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = vault / "Memory" / "a.md"
    second.hardlink_to(secret)
    fstat = os.fstat

    def after_it_went(descriptor: int) -> os.stat_result:
        if fstat(descriptor).st_nlink == 2 and fstat(descriptor).st_size == len(SECRET):
            second.unlink(missing_ok=True)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", after_it_went)
    content = None
    with suppress(errors.MemoryPathUnusable):
        content = folder.folder.read(("a.md",))
    assert not second.exists() and content is None


def test_a_move_onto_the_memory_folder_itself_is_refused_in_words(
    use: Any, folder: SharedFolder, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("create", "/memories/a.md", text="one")
    read = SharedFolder.read

    def and_the_user_removes_it(shared: SharedFolder, path: tuple[str, ...]) -> bytes | None:
        content = read(shared, path)
        (vault / "Memory" / "a.md").unlink(missing_ok=True)
        return content

    monkeypatch.setattr(SharedFolder, "read", and_the_user_removes_it)
    with pytest.raises(errors.ToolError):
        plan(UseMemory("rename", "/memories/a.md", to="/memories"), folder)
