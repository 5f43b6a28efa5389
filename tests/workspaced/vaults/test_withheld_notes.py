"""Notes that agents are not shown, in a running daemon: through crashes, lost indexes, unmounted vaults, saves in
parts and moves. What is withheld is known from something that lasts; what is unknown is withheld.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.patience import PATIENCE_S
from support.tool_fixtures import later_ns

from workspaced.vaults.served_vault import ServedVault
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.schema.catalogue import NoteShown, NoteWithheld
from workspaced_tools.limits import SETTLE_S
from workspaced_tools.vault.vault import Vault

Json = dict[str, Any]
PRIVATE = "---\nworkspaced: private\n---\n# Diary\n\nThe passphrase is xyzzy.\n"
NOTES = {f"n{number}.md": f"# Note {number}\n\nSome text, zebra.\n" for number in range(8)}
HEARD = ("xyzzy", "Diary", "diary")
IGNORE = ".workspacedignore"


def show(running: Any, *notes: str, select: str | None = None) -> None:
    """An editor pins the notes and looks at the last one, with a selection in it where `select` is its text."""
    for note in notes:
        running.publish("note_pinned", note=note)
        running.publish("active_note_set", note=note)
    if select is not None:
        running.publish("selection_changed", note=notes[-1], startLine=1, endLine=1, text=select)


def heard(running: Any) -> str:
    """Everything that an agent hears when it asks for all there is to name."""
    said = []
    with running.connect("agent") as client:
        for tool, arguments in (
            ("get_workspace_context", {"includeContent": True}),
            ("get_current_note", {}),
            ("get_navigation_history", {}),
            ("get_workspace_summary", {}),
            ("search_workspace", {"query": "passphrase"}),
            ("get_related_notes", {"reference": "n1"}),
            ("get_note_by_reference", {"reference": "n"}),
        ):
            said.append(client.tool(tool, arguments))
    return json.dumps(said)


def pinned(running: Any) -> list[str]:
    return [each["id"] for each in running.ask("get_workspace_context")["data"]["pinnedNotes"]]


def lose_index(running: Any) -> None:
    shutil.rmtree(running.data / "cache", ignore_errors=True)


# -- deleted notes after a crash --


@pytest.mark.fault(row=47)
@pytest.mark.parametrize(
    ("there", "looked_at"),
    [
        pytest.param(True, True, id="deleted before a crash"),
        pytest.param(True, False, id="gone before anybody looked at it"),
        pytest.param(False, True, id="never there"),
    ],
)
def test_a_withheld_note_that_is_gone_is_not_named_after_a_crash(
    daemon: Any, there: bool, looked_at: bool
) -> None:
    running = daemon(notes={**NOTES, "diary.md": PRIVATE} if there else NOTES)
    show(running, "n1.md", "diary.md", select="the passphrase is xyzzy" if looked_at else None)
    if looked_at:
        assert not any(each in heard(running) for each in HEARD)
    running.kill()
    (running.vault / "diary.md").unlink(missing_ok=True)
    lose_index(running)
    running.start()
    assert not any(each in heard(running) for each in HEARD)
    assert pinned(running) == ["n1.md"]


# -- the vault is not mounted --


@pytest.mark.fault(row=39)
@pytest.mark.fault(row=48)
@pytest.mark.parametrize("crash", [True, False])
def test_an_empty_folder_where_the_vault_was_shows_nothing_that_its_rules_withheld(
    daemon: Any, crash: bool
) -> None:
    notes = {**NOTES, "keep/diary.md": "# Diary\n\nxyzzy\n", IGNORE: "keep/\n"}
    running = daemon(notes=notes)
    show(running, "n1.md", "keep/diary.md", select="the passphrase is xyzzy")
    assert not any(each in heard(running) for each in HEARD)
    if crash:
        running.kill()
        lose_index(running)
    else:
        running.stop()
    running.vault.rename(running.root / "elsewhere")
    running.vault.mkdir()
    running.start()
    assert not any(each in heard(running) for each in HEARD)
    running.reconcile()
    degraded = running.call("workspaced/status")["degraded"]
    assert not any(each in heard(running) for each in HEARD)
    assert any("accept-rules" in each for each in degraded), degraded
    running.vault.rmdir()
    (running.root / "elsewhere").rename(running.vault)
    running.reconcile()
    assert running.call("workspaced/status")["degraded"] == []
    assert pinned(running) == ["n1.md"]


# -- the status that agents may ask for --


@pytest.mark.fault(row=50)
def test_an_agents_status_counts_what_is_wrong_and_names_nothing(
    daemon: Any, modern: Callable[..., Any], handshake: Callable[..., Any]
) -> None:
    running = daemon(notes=NOTES, start=False)
    os.mkfifo(running.vault / "Diary of a spy.md")
    (running.vault / os.fsdecode(b"diary \xff.md")).write_text("x")
    running.start()
    running.reconcile()
    named = json.dumps(running.call("workspaced/status"))
    assert "Diary of a spy" in named
    for peer in (modern(running), handshake(running)):
        peer.result("tools/list")  # by which the connection is one of MCP
        status = peer.result("workspaced/status")
        said = json.dumps(status)
        assert not any(each in said for each in HEARD), said
        (vault,) = status["vaults"]
        assert len(vault["warnings"]) == 2 and all(each[0] == "1" for each in vault["warnings"])


# -- saves in parts --


class Saves:
    """An editor that saves a file in parts, again and again, while somebody asks.

    A part must not rest for as long as it takes to settle. On a busy machine one may; then the answers given
    meanwhile do not count, and the saves are made once more.
    """

    PACE_S = 0.02
    REST_MAX_S = SETTLE_S / 2

    def __init__(self, file: Path, parts: Sequence[str], style: str) -> None:
        self._file = file
        self._parts = parts
        self._style = style
        self._ended = threading.Event()
        self._longest_s = 0.0

    def heard_by(self, ask: Callable[[], str], times: int) -> list[str]:
        """What `ask` gave during as many good rounds."""
        found: list[str] = []
        while len(found) < times:
            self._ended.clear()
            self._longest_s = 0.0
            saving = threading.Thread(target=self._save)
            saving.start()
            heard_now = [ask() for _ in range(3)]
            self._ended.set()
            saving.join()
            if self._longest_s < self.REST_MAX_S:
                found += heard_now
        return found

    def _save(self) -> None:
        """Ends with the whole file in place."""
        last_s = time.monotonic()
        while True:
            for part in self._parts:
                if self._style == "delete":
                    self._file.unlink()
                written = self._file.with_suffix(".tmp") if self._style == "replace" else self._file
                written.write_text(part)
                written.replace(self._file)
                now_s = time.monotonic()
                self._longest_s, last_s = max(self._longest_s, now_s - last_s), now_s
                self._ended.wait(self.PACE_S)
            if self._ended.is_set():
                return


def context(running: Any) -> Callable[[], str]:
    client = running.connect("agent")
    return lambda: json.dumps(client.tool("get_workspace_context", {"includeContent": True}))


@pytest.mark.fault(row=52)
@pytest.mark.parametrize("style", ["truncate", "delete", "replace"])
def test_rules_hold_while_they_are_saved_and_a_private_note_stays_so(daemon: Any, style: str) -> None:
    rules = "# mine\nkeep/\n"
    running = daemon(notes={**NOTES, "keep/diary.md": "# Diary\n\nxyzzy\n", "diary.md": PRIVATE, IGNORE: rules})
    show(running, "n1.md", "keep/diary.md", "diary.md", select="xyzzy")
    for name, *parts in (
        (IGNORE, "", "# mi", "# mine\nke", rules),
        ("diary.md", "", PRIVATE[:3], PRIVATE[:20], PRIVATE),
    ):
        for said in Saves(running.vault / name, parts, style).heard_by(context(running), 9):
            assert not any(each in said for each in HEARD), name
            assert "n1.md" in said


# -- moves --


@pytest.mark.fault(row=53)
def test_a_note_that_turns_private_as_it_moves_is_withheld_under_its_old_name_too(daemon: Any) -> None:
    running = daemon("--no-watch", notes={**NOTES, "diary.md": "# Diary\n\nThe passphrase is xyzzy.\n"})
    show(running, "n1.md", "diary.md", select="The passphrase is xyzzy.")
    with running.connect("agent") as client:
        client.call("workspaced/reconcile")
        assert "xyzzy" in json.dumps(client.tool("get_workspace_context", {"includeContent": True}))
        seq = client.call("workspaced/calls")["calls"][-1]["seq"]
    (running.vault / "diary.md").rename(running.vault / "other.md")
    (running.vault / "other.md").write_text(PRIVATE)
    for _ in range(2):
        assert not any(each in heard(running) for each in HEARD)
        with running.connect("agent") as client:
            for tool, arguments in (
                ("get_workspace_context", {"includeContent": True}),
                ("get_note_by_reference", {"reference": "diary.md"}),
                ("get_note_diff", {"reference": "diary.md"}),
                ("get_current_note", {}),
            ):
                said = json.dumps(client.tool(tool, {**arguments, "at": seq}))
                assert "xyzzy" not in said and "Diary" not in said, said
            client.call("workspaced/reconcile")


@pytest.mark.fault(row=53)
def test_a_note_moved_into_a_denied_folder_is_withheld_at_once(daemon: Any) -> None:
    notes = {**NOTES, "diary.md": "# Diary\n\nxyzzy\n", "keep/x.md": "# X\n", IGNORE: "keep/\n"}
    running = daemon("--no-watch", "--reconcile-s", "3600", notes=notes)
    show(running, "n1.md", "diary.md", select="xyzzy")
    running.reconcile()
    assert "xyzzy" in heard(running)
    (running.vault / "diary.md").rename(running.vault / "keep" / "diary.md")
    assert not any(each in heard(running) for each in HEARD)
    running.reconcile()
    assert not any(each in heard(running) for each in HEARD)


# -- front matter that means private --


MEANS_PRIVATE = (
    "\u200b---\nworkspaced: private\n---\nxyzzy",
    "--- # a comment\nworkspaced: private\n---\nxyzzy",
    "---\nworkspaced:\n  - all\n  - [Private]\n---\nxyzzy",
    "---\n<<: {workspaced: private}\n---\nxyzzy",
    "---\nfill: " + "x" * 17_000_000 + "\nworkspaced: private\n---\nxyzzy",
    "---\nwork\u00adspaced: private\n---\nxyzzy",
    "---\nworkspaced: on-request\n: [\n---\nxyzzy",
    "---\nworkspaced: {level: never}\n---\nxyzzy",
)
"""All the ways: tests/tools/notes/test_privacy_flag.py."""
ORDINARY = (
    "---\ntitle: A: b\n---\nThis is no private matter.",
    "Some words\n---\nworkspaced: private\n---\nnot at the beginning",
    "---\nworkspaced: {private: false}\n---\nBody",
)


@pytest.mark.fault(row=62)
def test_front_matter_that_means_private_withholds_and_ordinary_notes_stay_readable(daemon: Any) -> None:
    private = {f"diary{number}.md": text for number, text in enumerate(MEANS_PRIVATE)}
    ordinary = {f"open{number}.md": text for number, text in enumerate(ORDINARY)}
    running = daemon(notes={**private, **ordinary})
    show(running, *private, *ordinary)
    with running.connect("agent") as client:
        client.call("workspaced/reconcile")
        for note, text in private.items():
            answer = client.tool("get_note_by_reference", {"reference": note})
            assert answer.get("code") == "NOTE_NOT_FOUND", ascii(text[:40])
        assert client.tool("search_workspace", {"query": "xyzzy"})["data"]["total"] == 0
    assert pinned(running) == [*ordinary]


# -- a name that an agent guesses: nothing changes that does not change for a name that no note has --

HOME = {"Home.md": "# Home\n\nSome words.\n"}
GUESSED, MISSING = "keep/Diary.md", "keep/Diarx.md"
MOVING = {"uptimeS", "seq", "asOfSeq", "clock", "recording", "sharing"}
"""Of the status, what every call moves."""


def found_withheld(running: Any, note: str) -> list[str]:
    """The notes that the log says are withheld, once this one is among them."""
    withheld: list[str] = []
    while note not in withheld:
        withheld = [each["data"]["note"] for each in running.events("note_withheld")]
    return withheld


def test_an_agents_status_does_not_move_with_what_was_asked_for(daemon: Any, modern: Callable[..., Any]) -> None:
    running = daemon("--no-watch", notes={**HOME, GUESSED: PRIVATE})
    running.reconcile()
    agent = modern(running)

    def status() -> Json:
        found = agent.result("workspaced/status")
        # What waits for the disk at this moment is the records of the calls themselves, of either kind.
        queues = {name: value for name, value in found["queues"].items() if not name.startswith("publish")}
        return {name: value for name, value in found.items() if name not in MOVING} | {"queues": queues}

    agent.result("tools/list")
    seen = []
    for reference in (MISSING, GUESSED, GUESSED, MISSING):
        agent.call("get_note_by_reference", reference=reference)
        seen.append(status())
    assert seen == [seen[0]] * len(seen)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda file: os.symlink("/etc/hostname", file)])
def test_a_private_note_that_became_something_else_answers_as_a_missing_one(
    daemon: Any, make: Callable[[Path], object]
) -> None:
    running = daemon("--no-watch", notes={**HOME, GUESSED: PRIVATE})
    show(running, GUESSED, "Home.md")
    assert found_withheld(running, GUESSED) == [GUESSED]
    running.kill()
    (running.vault / GUESSED).unlink()
    make(running.vault / GUESSED)
    running.start()
    answers = {
        json.dumps(running.ask("get_note_by_reference", reference=name)).replace(name, "NAME")
        for name in (GUESSED, MISSING)
    }
    assert len(answers) == 1, answers


# -- a note that turned private a moment ago, which no watcher has reported --


def test_what_a_rule_or_flag_withholds_by_now_is_not_recorded_as_shown(tmp_path: Path) -> None:
    """Findings that a note is shown wait for others."""
    names = [NoteId(each) for each in ("open.md", "ruled.md", "flagged.md", "both.md")]
    for name in names:
        (tmp_path / name).write_text("text")
    actions: list[Action] = []
    vault = Vault(tmp_path, clock_ns=later_ns)  # nothing is being saved any more
    served = ServedVault(VaultId("v"), tmp_path, vault, actions.extend)
    for name in names:
        vault.look_at(name)
    for name in ("flagged.md", "both.md"):
        (tmp_path / name).write_text("---\nworkspaced: private\n---\n")
        vault.notes.read([NoteId(name)])
    (tmp_path / IGNORE).write_text("ruled.md\nboth.md\n")
    vault.policy.refresh()
    served.visibility_checker.flush()
    vault.close()
    shown = {each.data.note for each in actions if isinstance(each.data, NoteShown)}
    withheld = [each.data.note for each in actions if isinstance(each.data, NoteWithheld)]
    assert shown == {"open.md", "flagged.md", "both.md"}
    assert withheld == ["flagged.md", "both.md"]


async def test_who_waits_for_notes_to_settle_waits_for_a_check_that_another_thread_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That check has read the notes, so nothing is due any more; the index has them only after it."""
    vault = Vault(tmp_path)
    served = ServedVault(VaultId("v"), tmp_path, vault, lambda _actions: None)
    (tmp_path / "new.md").write_text("# New\n")
    vault.reconcile()
    assert vault.levels.unsettled == ["new.md"]
    file, has_read, go_on = vault.notes.indexer.file, threading.Event(), threading.Event()

    def held(notes: Sequence[NoteId]) -> bool:
        has_read.set()
        assert go_on.wait(PATIENCE_S)
        return file(notes)

    monkeypatch.setattr(vault.notes.indexer, "file", held)
    while (due_s := vault.due_s()) is not None and due_s > time.monotonic():
        pass
    other = threading.Thread(target=vault.settle)
    other.start()
    assert has_read.wait(PATIENCE_S) and vault.due_s() is None
    threading.Timer(0.1, go_on.set).start()

    await served.settled()
    assert vault.index.ids() == ["new.md"]
    other.join()
    vault.close()
