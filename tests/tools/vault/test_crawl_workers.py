"""Surveys by worker processes: the same result as in process, whatever becomes of the workers."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from support import images
from support.index_contents import held
from support.tool_fixtures import MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.errors import ReadFailed
from workspaced_tools.ports.questions import Images
from workspaced_tools.ports.vault import NoteImage, SearchQuery
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE, Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.index import crawl, indexer
from workspaced_tools.vault.index.crawl import Batch, Bounds, Crawl
from workspaced_tools.vault.index.crawl_workers import CrawlWorkers
from workspaced_tools.vault.vault import Vault

ALWAYS = Bounds(notes=0, stale=0)
NEVER = Bounds(notes=1_000_000, stale=1_000_000)
CLOSE_S = 60.0
FILES = {
    **{f"d{n % 7}/n{n}.md": f"# Title {n}\n\nword{n % 5} [[n{n + 1}]] #tag{n % 3}\n" for n in range(150)},
    "private.md": "---\nworkspaced: private\n---\nsecret",
    "denied/x.md": "# Denied",
    "setting/x.md": "# Denied by the setting",
    "head.md": "---\nid: h-1\naliases: [Kopf, H]\ntags: [one, two/three]\n---\n# Head\n\n## Part\n",
    "空.md": "# 東京\n\n東京都に住む\n",
    "empty.md": "",
    "bytes.md": b"# By\xfftes",
    IGNORE_FILE: "denied/\n",
}


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No test leaves a process behind, or a file beside the index, or a word of a worker's."""
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    for file in (tmp_path / "cache").glob("*"):
        assert file.suffix in (".sqlite", ".seal"), file
    assert "Traceback" not in capfd.readouterr().err


class Watched(CrawlWorkers):
    """CrawlWorkers that tell what comes from them."""

    started = 0
    meet: Callable[["Watched", Batch], object] = staticmethod(lambda *_: None)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        Watched.started += 1

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    def batches(self) -> Iterator[tuple[int, Batch]]:
        for number, batch in super().batches():
            type(self).meet(self, batch)
            yield number, batch


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    monkeypatch.setattr(Watched, "started", 0)
    monkeypatch.setattr(indexer, "CrawlWorkers", Watched)
    return Watched


def scratch(vault: Vault) -> dict[str, Any]:
    fresh = Vault(vault.root.path, deny=["setting/"], inline=NEVER, clock_ns=later_ns)
    fresh.reconcile()
    try:
        return held(fresh)
    finally:
        fresh.close()


@pytest.fixture
def make(make_vault: MakeVault, tmp_path: Path) -> Callable[..., Vault]:
    """make() -> a Vault over FILES that has all of its surveys done by workers; not indexed yet."""

    def made(**options: Any) -> Vault:
        options = {"inline": ALWAYS, "cache_dir": tmp_path / "cache", "deny": ["setting/"], **options}
        return make_vault(FILES, indexed=False, **options)

    return made


def test_an_image_that_comes_once_its_folder_was_surveyed_is_known(
    make: Callable[..., Vault], workers: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    def come(_: Watched, batch: Batch) -> None:
        if batch.others is not None:
            images.write(vault.root.path, {"late.png": images.png()})
            vault.changed(["late.png"])

    vault = make()
    (vault.root.path / "shows.md").write_text("![[late.png]]")
    monkeypatch.setattr(workers, "meet", staticmethod(come))
    vault.reconcile()
    [shown] = vault.ask(Images(NoteId("shows.md")), EMPTY_VAULT).images
    assert isinstance(shown, NoteImage)


@pytest.mark.parametrize("when", ["at once", "at the report", "among the texts"])
def test_where_a_worker_is_killed_the_survey_goes_on_in_process(
    when: str, make: MakeVault, workers: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []

    def kill(these: Watched, batch: Batch) -> None:
        now = {"at once": True, "at the report": batch.report is not None, "among the texts": bool(batch.texts)}
        if now[when] and not killed:
            killed.extend(these.pids)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            # What they wrote is lost too, as where one dies within a frame.
            for worker in these._workers:
                assert worker.stdout is not None
                worker.wait()
                while worker.stdout.read(65_536):
                    pass

    vault = make()
    monkeypatch.setattr(workers, "meet", staticmethod(kill))
    vault.reconcile()
    assert killed
    assert vault.index.file.generation == 0  # and it was not made anew for that
    assert held(vault) == scratch(vault)
    assert vault.searches.search(SearchQuery("word1", 50)).complete


def test_without_workers_it_goes_on_in_process(make: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    vault = make()
    vault.reconcile()
    monkeypatch.undo()
    assert held(vault) == scratch(vault)


def test_a_folder_that_goes_away_under_the_workers_loses_no_names(
    make: MakeVault, workers: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Watched):
        def __init__(self, *arguments: Any) -> None:
            vault.root.path.rename(away)
            super().__init__(*arguments)

    vault = make()
    vault.reconcile()
    away = vault.root.path.with_name("away")
    monkeypatch.setattr(indexer, "CrawlWorkers", Late)
    with pytest.raises(ReadFailed):
        vault.reconcile()
    monkeypatch.setattr(indexer, "CrawlWorkers", Watched)
    assert vault.index.count() == 154
    away.rename(vault.root.path)
    vault.reconcile()
    assert held(vault) == scratch(vault)


def test_closing_ends_the_workers_and_the_next_start_goes_on(
    make: MakeVault, workers: type[Watched], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: Watched, _batch: Batch) -> None:
        reached.set()
        go_on.wait(CLOSE_S)

    monkeypatch.setattr(workers, "meet", staticmethod(hold))
    vault = make()
    vault.start()
    assert reached.wait(CLOSE_S)
    closing = threading.Thread(target=vault.close)
    closing.start()
    go_on.set()
    closing.join(CLOSE_S)
    assert not closing.is_alive()
    monkeypatch.setattr(workers, "meet", staticmethod(lambda *_: None))
    options: dict[str, Any] = {"deny": ["setting/"], "inline": ALWAYS, "clock_ns": later_ns}
    again = Vault(vault.root.path, cache_dir=tmp_path / "cache", **options)
    again.reconcile()
    assert held(again) == scratch(again)
    again.close()


def test_an_unparsable_note_keeps_no_other_out(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = crawl.indexed

    def failing(note: Any, *arguments: Any, **more: Any) -> Any:
        if note.id == "bad.md":
            raise RecursionError
        return whole(note, *arguments, **more)

    monkeypatch.setattr(crawl, "indexed", failing)
    vault = make_vault({"a.md": "apple", "bad.md": "apple", "c.md": "apple"}, inline=NEVER)
    assert vault.searches.search(SearchQuery("apple", 5)).total == 2
    assert vault.changed(["bad.md"]).created == ()
    monkeypatch.undo()
    vault.reconcile()
    assert vault.searches.search(SearchQuery("apple", 5)).total == 3


def test_texts_come_after_all_names_and_that_of_a_private_note_is_kept_nowhere(tmp_path: Path) -> None:
    images.write(tmp_path, FILES)
    root = VaultRoot(tmp_path)
    policy = Policy(root)
    policy.refresh()
    spool = BytesIO()
    batches = list(Crawl(root, policy, {}).batches(spool))
    [last] = [number for number, batch in enumerate(batches) if batch.report is not None]
    named = {each.note.entry.id: each.note for batch in batches[: last + 1] for each in batch.notes}
    texts = {each.note: each.text for batch in batches[last:] for each in batch.texts}
    assert texts.keys() == {note for note, made in named.items() if not made.entry.withheld}
    assert not any(made.text for made in named.values())
    together = [each.note for batch in Crawl(root, policy, {}).batches() for each in batch.notes]
    assert {made.entry.id: made.text for made in together if made.text is not None} == texts
    assert b"secret" not in spool.getvalue()
    root.close()


def test_what_lies_in_the_present_folder_is_never_run(
    make_vault: MakeVault, workers: type[Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon may be started from a vault, and a vault may come from anywhere."""
    marker = tmp_path / "was-run"
    script = f"open({os.fspath(marker)!r}, 'w')\nraise SystemExit(3)\n"
    names = ("msgspec", "selectors", "logging", "subprocess", "yaml", "workspaced_tools")
    vault = make_vault({"a.md": "apple", **{f"{name}.py": script for name in names}}, indexed=False, inline=ALWAYS)
    monkeypatch.chdir(vault.root.path)
    vault.reconcile()
    assert workers.started == 1
    assert not marker.exists()
    assert vault.notes.names([NoteId("a.md")]) != [None]
