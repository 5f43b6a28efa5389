"""Faults 32, 34, 35, 37, 41 and 42: symlinks, giants, bytes, bombs, equal stats, names.

Memory is counted by a limit on a process of its own (rows 34 and 37).
"""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import bad_paths as paths

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import NOTE_BYTES_MAX
from workspaced_tools.notes.note import Note, NoteFailure
from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.vault import Vault

SWAPPING_S = 5.0
READS_MIN = 1_000
keeps_names = pytest.mark.skipif(sys.platform == "darwin", reason="the file system normalises names")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A vault beside folders with canaries, full of symlinks to them."""
    made: Path = paths.make_world(tmp_path)
    return made


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Path], Vault]]:
    """opened(folder) -> a reconciled Vault, closed at the end."""
    made: list[Vault] = []

    def make(folder: Path) -> Vault:
        made.append(Vault(folder, clock_ns=lambda: time.time_ns() + 10_000_000_000))
        made[-1].reconcile()
        return made[-1]

    yield make
    for vault in made:
        vault.close()


def read_note(vault: Vault, note: str) -> Note:
    [found] = vault.notes.read([NoteId(note)])
    assert isinstance(found, Note), found
    return found


def failure(vault: Vault, note: str) -> str:
    [found] = vault.notes.read([NoteId(note)])
    assert isinstance(found, NoteFailure), found
    return found.code


@pytest.mark.fault(row=32)
@pytest.mark.thorough
def test_row_32_a_folder_swapped_for_a_link_never_leaks(world: Path, opened: Callable[[Path], Vault]) -> None:
    (world / "swap").mkdir()
    (world / "swap/secret.md").write_text("# Mine")
    (world / "other").symlink_to(world.parent / "outside")
    vault = opened(world)
    done = threading.Event()
    tries = [0, 0, 0]
    leaks: list[object] = []
    met: set[str] = set()

    def swap() -> None:
        while not done.is_set():
            os.rename(world / "swap", world / "kept")
            os.rename(world / "other", world / "swap")
            os.rename(world / "swap", world / "other")
            os.rename(world / "kept", world / "swap")

    def read(number: int) -> None:
        while not done.is_set():
            [found] = vault.notes.read([NoteId("swap/secret.md")])
            text = found.text if isinstance(found, Note) else found.code
            met.add(text)
            if paths.CANARY in text:
                leaks.append(found)
            tries[number] += 1

    def rescan() -> None:
        while not done.is_set():
            vault.reconcile()
            tries[2] += 1
            if vault.links.resolve(paths.CANARY, EMPTY_VAULT).note is not None:
                leaks.append("index")

    threads = [threading.Thread(target=each) for each in (swap, lambda: read(0), lambda: read(1), rescan)]
    for thread in threads:
        thread.start()
    done.wait(SWAPPING_S)
    while tries[0] + tries[1] <= READS_MIN:  # a busy machine needs longer
        done.wait(0.1)
    done.set()
    for thread in threads:
        thread.join()
    sys.stdout.write(
        f"{len(leaks)} leaks of {tries[0] + tries[1]} reads and {tries[2]} scans; met {sorted(met)}\n"
    )
    assert leaks == []
    assert met <= {"# Mine", "SYMLINK", "NOTE_NOT_FOUND"}


# -- 34, 37: giants and bombs, in bounded memory --


def within_memory(bytes_max: int, script: str, *arguments: str) -> str:
    """What `script` prints in a process that may use no more than `bytes_max` beyond what imports take."""
    prelude = f"""
    import resource, sys, os
    from pathlib import Path
    from workspaced_tools.vault.vault import Vault
    from workspaced_tools.tools.registry import TOOLS
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + {bytes_max}, used + {bytes_max}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(script), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
SPAWNING = 512 * 1024 * 1024
"""Address space that threads reserve without using it, and what a 16 MiB note takes while it is read."""


@pytest.mark.fault(row=34)
@needs_proc
def test_row_34_a_sparse_gigabyte_and_a_long_line_are_capped_in_bounded_memory(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    with open(folder / "sparse.md", "wb") as file:
        file.write(b"# Sparse\n")
        file.truncate(1 << 30)
    (folder / "line.md").write_text("# Line\n" + "word [[x]] " * 1_000_000)
    script = """
    vault = Vault(sys.argv[1])
    vault.reconcile()
    for name in ("sparse.md", "line.md"):
        [note] = vault.notes.read([name])
        print(name, len(note.source), bool(note.warnings), note.title)
    print(vault.note_count())
    vault.close()
    """
    sparse, line, count = within_memory(SPAWNING, script, str(folder)).splitlines()
    assert sparse == f"sparse.md {NOTE_BYTES_MAX} True Sparse"
    assert line == f"line.md {7 + 11_000_000} False Line"
    assert count == "2"


BOMBS = {
    "alias": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)),
    "merge": "a: &a {k: v}\n"
    + "".join(f"b{n}: &b{n} {{<<: [{','.join(['*a' if n == 0 else f'*b{n - 1}'] * 9)}]}}\n" for n in range(40)),
    "nesting": "x: " + "[" * 900 + "]" * 900 + "\n",
    "mapping": "".join("  " * n + f"k{n}:\n" for n in range(900)),
    "date": "date: 2026-13-45\ncreated: 0000-00-00T99:99:99Z\n",
    "tabs": "a:\n\t- b\n\tc: d\n",
    "control": "a: \x01\x02\x1b[31m\nb: \x00\n",
    "huge": "x: " + "y" * 400_000 + "\n",
    "unknown tag": "a: !!python/object/apply:os.system [id]\n",
}
ENDLESS = {"mapping", "huge"}
"""Longer than the head of a file that says whether the note is private."""
WHOLE = {"date", "merge", "unknown tag", "control", "tabs"}
"""What may be read as front matter, with or without a problem."""


@pytest.mark.fault(row=37)
@needs_proc
def test_row_37_front_matter_bombs_leave_the_note_served_or_withheld(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    for name, bomb in BOMBS.items():
        (folder / f"{name}.md").write_text(f"---\n{bomb}---\n# Heading\n\nthe body\n")
        if name not in ENDLESS:
            (folder / f"{name} open.md").write_text(f"---\n{bomb}# Heading\n\nthe body\n")
    script = """
    import json
    vault = Vault(sys.argv[1])
    vault.reconcile()
    def read(name):
        for _ in range(1_000):  # what was written just now is not shown yet
            [found] = vault.notes.read([name])
            if hasattr(found, "front_matter") or name in ("mapping.md", "huge.md"):
                return found
            vault.reconcile()
    def told(name):
        found = read(name)
        if not hasattr(found, "front_matter"):
            return found.code
        problem, fields = found.front_matter.problem, found.front_matter.fields
        return found.body.endswith("the body\\n"), problem is not None, len(str(fields)) < 200_000, found.title
    print(json.dumps({name: told(name) for name in sorted(os.listdir(sys.argv[1]))}))
    vault.close()
    """
    told = json.loads(within_memory(SPAWNING, script, str(folder)))
    for name in BOMBS:
        if name in ENDLESS:
            assert told[f"{name}.md"] == "NOTE_NOT_FOUND", name
            continue
        served, broken, bounded, title = told[f"{name}.md"]
        assert (served, bounded, title) == (True, True, "Heading") and (broken or name in WHOLE), name
        assert told[f"{name} open.md"][:2] == [True, True], name


# -- 41: equal stats --


@pytest.mark.fault(row=41)
def test_row_41_an_edit_of_equal_stat_is_served(tmp_path: Path, opened: Callable[[Path], Vault]) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    (folder / "n.md").write_text("# One")
    os.utime(folder / "n.md", ns=(0, 1_700_000_000_000_000_000))
    vault = opened(folder)
    assert read_note(vault, "n.md").title == read_note(vault, "n.md").title == "One"
    for title in ("Two", "Six", "Ten"):
        (folder / "n.md").write_text(f"# {title}")
        os.utime(folder / "n.md", ns=(0, 1_700_000_000_000_000_000))
        assert read_note(vault, "n.md").title == title
        assert [version.id for version in vault.reconcile().changed] == ["n.md"]
        assert vault.links.resolve(title, EMPTY_VAULT).note is not None


# -- 42: names --


@pytest.mark.fault(row=42)
def test_row_42_a_rename_in_case_only_loses_no_note(tmp_path: Path, opened: Callable[[Path], Vault]) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    (folder / "plan.md").write_text("text")
    vault = opened(folder)
    os.rename(folder / "plan.md", folder / "Plan.md")
    changes = vault.changed(["plan.md", "Plan.md"])
    assert changes == Changes(renamed=((NoteId("plan.md"), NoteId("Plan.md")),))
    assert vault.reconcile() == Changes()
    assert vault.index.ids() == ["Plan.md"]
    for reference in ("plan.md", "Plan.md", "PLAN", "[[plan]]"):
        found = vault.links.resolve(reference, EMPTY_VAULT).note
        assert found is not None and found.id == "Plan.md", reference


def test_row_42_a_missing_note_with_a_name_beyond_ascii_lists_no_directory(
    tmp_path: Path, opened: Callable[[Path], Vault], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "v"
    (folder / "Ünter").mkdir(parents=True)
    (folder / "Ünter/da.md").write_text("here")
    vault = opened(folder)
    listed: list[object] = []
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, lambda path=".", name=name: listed.append((name, path)))
    for _ in range(10):
        for note in ("fehlt-ä.md", "Ünter/fehlt-é.md", "kein-Ördner/x.md"):
            assert failure(vault, note) == "NOTE_NOT_FOUND"
    assert read_note(vault, "Ünter/da.md").text == "here"
    monkeypatch.undo()
    assert listed == []


MIB = 1024 * 1024
MANY = 10_000
PER_FOLDER = 200
DEEP = 1_000
ROUNDS = 6
GIANT_ROUNDS = 2
MANY_BYTES_MAX = 48 * MIB
"""What a daemon of MANY notes may take beyond one of four: their names and stats, and the index's caches."""
AGAIN_BYTES_MAX = 8 * MIB
"""What comparing and changing all of them again may add."""
GIANT_BYTES = 1 << 30
GIANT_PEAK_BYTES_MAX = 400 * MIB
GIANT_KEPT_BYTES_MAX = 96 * MIB
"""What may still be taken once the giants are gone."""
ANSWER_S = 120.0


def peak_bytes(running: Any) -> int:
    """The most resident memory that the process ever had."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def write_many(vault: Path, word: str) -> None:
    for number in range(MANY):
        folder = vault / f"d{number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{word} [[{number + 1}]] #t{number % 50}\n")


def make_chain(vault: Path) -> None:
    """Folders in folders, deeper than a path may be long."""
    here = os.open(vault, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def remove_chain(vault: Path) -> None:
    """Ordinary clean-up stops at paths that long."""
    while inner := list((vault / "deep").iterdir()):
        os.rename(inner[0], vault / "next")
        (vault / "deep").rmdir()
        os.rename(vault / "next", vault / "deep")


def few(daemon: Any) -> int:
    """The memory of a daemon of four notes."""
    running = daemon("--reconcile-s", "3600")
    with running.connect(timeout_s=ANSWER_S) as client:
        client.call("workspaced/reconcile")
        client.tool("search_workspace", {"query": "note"})
        taken: int = running.memory_bytes()
    running.stop()
    return taken


@pytest.mark.fault(row=34)
@needs_proc
@pytest.mark.thorough
def test_row_34_many_notes_and_deep_folders_cost_bounded_memory_however_often_they_change(daemon: Any) -> None:
    base = few(daemon)
    running = daemon("--reconcile-s", "3600", start=False)
    make_chain(running.vault)
    taken = []
    for number in range(ROUNDS):
        write_many(running.vault, f"word{number}")
        if number == 0:
            running.start()
        with running.connect(timeout_s=ANSWER_S) as client:
            client.call("workspaced/reconcile")
            found = client.tool("search_workspace", {"query": f"word{number}", "limit": 5})
            assert found["success"] and len(found["data"]["results"]) == 5
            status = client.call("workspaced/status")["vaults"][0]
            assert status["index"]["notesFound"] == MANY + 4
            assert any("too deep" in warning for warning in status["warnings"])
            assert status["cache"]["bytes"] < MIB, "indexing keeps no text"
        taken.append(running.memory_bytes())
        if number >= 2 and taken[-1] - taken[-2] < AGAIN_BYTES_MAX:
            break
    remove_chain(running.vault)
    assert max(taken) - base < MANY_BYTES_MAX, (base, taken)
    assert taken[-1] - taken[-2] < AGAIN_BYTES_MAX, (base, taken)  # a leak takes as much every time
    assert len(os.listdir(f"/proc/{running.pid}/fd")) < 64


@pytest.mark.fault(row=34)
@needs_proc
@pytest.mark.thorough
def test_row_34_the_memory_that_giants_took_is_given_back(daemon: Any) -> None:
    running = daemon("--reconcile-s", "3600")
    with running.connect(timeout_s=ANSWER_S) as client:
        client.call("workspaced/reconcile")
        client.tool("get_note_by_reference", {"reference": "a"})
        base = running.memory_bytes()
        for number in range(GIANT_ROUNDS):
            sparse, line = running.vault / "sparse.md", running.vault / "line.md"
            with sparse.open("wb") as file:
                file.write(f"# Sparse {number}\n".encode())
                file.truncate(GIANT_BYTES)
            line.write_text(f"# Line {number}\n" + "word [[x]] " * 300_000)
            client.call("workspaced/reconcile")
            for reference in ("sparse", "line"):
                for tool in ("get_note_by_reference", "get_related_notes", "get_note_diff"):
                    client.tool(tool, {"reference": reference})
            sparse.unlink()
            line.unlink()
            client.call("workspaced/reconcile")
            client.tool("get_note_by_reference", {"reference": "a"})
            kept = running.memory_bytes() - base
            assert kept < GIANT_KEPT_BYTES_MAX, f"{kept // MIB} MiB after round {number}"
    assert peak_bytes(running) - base < GIANT_PEAK_BYTES_MAX
