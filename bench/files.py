"""A tree of source code as a vault: its listing, its index, a word in it, an outline; beside git and ripgrep.

The tree is real: the Python packages of this interpreter, and beside them, ignored by `.gitignore`, the
`node_modules` of two packages from npm (without npm: none, and the figures say so).
"""

import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from workspaced_events.projections.workspace_state import VaultState
from workspaced_tools.code.outline import outline_of_code
from workspaced_tools.limits import OUTLINE_BYTES_MAX
from workspaced_tools.ports.questions import Search
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.files.selected_files import FileChoice, SelectedFiles
from workspaced_tools.vault.files.walk import scan
from workspaced_tools.vault.vault import Vault

from .daemon import Place, daemon
from .measure import Figure, interleaved, median, progress
from .vaults import wait_for_index

GLOBS: Final = ("*.py", "*.pyi", "*.js", "*.ts", "*.json", "*.toml", "*.txt")
IGNORED_PACKAGES: Final = ("eslint", "typescript")
WORD: Final = "DeprecationWarning"
ROUNDS: Final = 7
QUICK_PACKAGES: Final = 12


def files(at: Place) -> Iterator[Figure]:
    """All figures of one tree."""
    tree, ignored = _tree(at)
    selected = SelectedFiles(FileChoice(GLOBS))
    found = len(_listed(tree, selected))
    fields = {"files": found, "files_ignored": ignored}
    yield _listing(tree, selected, fields)
    vault = Vault(tree, files=selected.choice, clock_ns=lambda: time.time_ns() + 10_000_000_000)
    begun = time.perf_counter()
    vault.start()
    wait_for_index(vault)
    built = time.perf_counter() - begun
    yield Figure("files.build", built, "s", fields={**fields, "files_a_second": found / built})
    yield _search(tree, vault, fields)
    vault.close()
    with daemon(at, tree, settings={"WORKSPACED_FILES": ",".join(GLOBS)}) as running:
        running.wait_for_index()
        yield Figure("files.memory", running.resident_mb(), "MB", fields=fields)
    yield _outline(tree)


def _tree(at: Place) -> tuple[Path, int]:
    """The tree, and how many of its files are ignored."""
    tree, packages = at.new("code"), Path(sysconfig.get_paths()["purelib"])
    is_whole = at.sizes.restarts > 2
    chosen = sorted(path for path in packages.iterdir() if path.is_dir())
    for package in chosen if is_whole else chosen[:QUICK_PACKAGES]:
        shutil.copytree(
            package, tree / "lib" / package.name, ignore=shutil.ignore_patterns("*.so*", "__pycache__")
        )
    (tree / ".gitignore").write_text("node_modules/\n__pycache__/\n*.pyc\n")
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    npm = shutil.which("npm")
    if npm is not None and is_whole:
        progress(f"fetching {' and '.join(IGNORED_PACKAGES)} with npm")
        command = [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
            str(tree),
        ]
        subprocess.run([*command, *IGNORED_PACKAGES], check=False)
    return tree, sum(len(names) for _, _, names in os.walk(tree / "node_modules"))


def _listed(tree: Path, selected: SelectedFiles) -> list[str]:
    root = VaultRoot(tree, selected)
    found = [str(note.id) for note in scan(root) if not note.id.endswith(".md")]
    root.close()
    return found


def _seconds(act: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        begun = time.perf_counter()
        act()
        return time.perf_counter() - begun

    return timed


def _listing(tree: Path, selected: SelectedFiles, fields: dict[str, int]) -> Figure:
    """A walk with globs and `.gitignore`, beside git's."""
    git = ["git", "ls-files", "-o", "--exclude-standard", "--", *GLOBS]
    ours, theirs = interleaved(
        ROUNDS,
        _seconds(lambda: _listed(tree, selected)),
        _seconds(lambda: subprocess.run(git, cwd=tree, capture_output=True, check=True)),
    )
    note = "the walk goes through ignored folders too, for Markdown; git does not"
    times = {"seconds": median(ours), "git_ls_files_s": median(theirs), "note": note}
    return Figure("files.listing", median(ours) / median(theirs), "times git ls-files", fields={**fields, **times})


def _search(tree: Path, vault: Vault, fields: dict[str, int]) -> Figure:
    """The ten best files for a word, beside a scan of all files for it."""
    question = Search(SearchQuery(WORD, 10))
    rival, command = _rival()
    ours, theirs = interleaved(
        ROUNDS,
        _seconds(lambda: vault.ask(question, VaultState())),
        _seconds(lambda: subprocess.run([*command, WORD], cwd=tree, capture_output=True, check=False)),
    )
    hits = vault.ask(question, VaultState()).total
    scanned = len(subprocess.run([*command, WORD], cwd=tree, capture_output=True, check=False).stdout.splitlines())
    times = {"p50_ms": median(ours) * 1_000, "rival": rival, "rival_p50_ms": median(theirs) * 1_000}
    counts = {"hits": hits, "rival_hits": scanned}
    return Figure(
        "files.search", median(theirs) / median(ours), f"times {rival}", fields={**fields, **times, **counts}
    )


def _rival() -> tuple[str, Sequence[str]]:
    """The strongest program here that finds the files with a word, which must list them alone."""
    if (ripgrep := shutil.which("rg")) is not None:
        return "ripgrep", [ripgrep, "-il", *(f"-g{glob}" for glob in GLOBS)]
    return "grep", ["grep", "-rilI", "--exclude-dir=node_modules", *(f"--include={glob}" for glob in GLOBS)]


def _outline(tree: Path) -> Figure:
    """The outline of a large file, a process for each."""
    sizes = {path: path.stat().st_size for path in (tree / "lib").rglob("*.py")}
    largest = max((path for path in sizes if sizes[path] < OUTLINE_BYTES_MAX), key=sizes.__getitem__)
    source = largest.read_bytes()
    samples = [_seconds(lambda: outline_of_code(largest.name, source))() for _ in range(ROUNDS)]
    outline = outline_of_code(largest.name, source)
    more = {"bytes": len(source), "definitions": len(outline.symbols), "missing": outline.missing}
    return Figure("files.outline", median(samples) * 1_000, "ms", fields=more)
