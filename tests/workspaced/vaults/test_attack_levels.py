"""Levels, attacked: what tells of a note that only explicit requests may show, and what is recorded of it."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspaced.limits import COALESCE_S
from workspaced_events.ids import NoteId
from workspaced_tools.vault.vault import Vault

HOME = "# Home\n\nSee [[Diary]]. zebra\n"
DIARY = "---\nworkspaced: on-request\n---\n# Diary\n\nDear diary, xyzzy.\n"
PRIVATE = "---\nworkspaced: private\n---\n# Home\n"
NOTES = {"home.md": HOME, "Diary.md": DIARY}
HOME_NOTE, OTHER = NoteId("home.md"), NoteId("other.md")


@pytest.fixture
def running(daemon: Callable[..., Any]) -> Any:
    made = daemon(notes=NOTES)
    reconcile(made)
    return made


def reconcile(running: Any) -> None:
    with running.connect("person") as client:
        client.call("workspaced/reconcile")


def publish(running: Any, kind: str, **data: Any) -> None:
    with running.connect("editor") as client:
        client.publish([{"type": kind, "data": data}])


def context(running: Any) -> dict[str, Any]:
    with running.connect("agent") as client:
        found: dict[str, Any] = client.tool("get_workspace_context")["data"]
        return found


# -- what people write --


@pytest.mark.parametrize("flag", ["never", "[work, never]", "{level: never}"])
def test_a_note_is_withheld_by_the_name_of_the_level(daemon: Callable[..., Any], flag: str) -> None:
    running = daemon(notes={"home.md": HOME, "Diary.md": f"---\nworkspaced: {flag}\n---\n# Diary\n"})
    reconcile(running)
    with running.connect("agent") as client:
        assert client.tool("get_note_by_reference", {"reference": "Diary.md"})["success"] is False


# -- counts and times --


def test_the_status_that_agents_see_is_that_of_a_vault_without_the_note(
    daemon: Callable[..., Any], modern: Callable[..., Any]
) -> None:
    counts = []
    for notes in (NOTES, {"home.md": HOME}):
        made = daemon(notes=notes)
        reconcile(made)
        agent = modern(made, "agent")
        agent.result("tools/list")
        [vault] = agent.result("workspaced/status")["vaults"]
        counts.append((vault["withheld"], vault["index"]))
        agent.wire.close()
    assert counts[0] == counts[1]


_SHOWN = [
    ("note_pinned", {"note": "Diary.md"}),
    ("active_note_set", {"note": "Diary.md"}),
    ("temporary_tab_opened", {"note": "Diary.md", "source": "search"}),
]


@pytest.mark.parametrize(("kind", "data"), _SHOWN)
def test_the_context_stays_the_same_while_such_a_note_is_shown(
    running: Any, kind: str, data: dict[str, Any]
) -> None:
    publish(running, "note_pinned", note="home.md")
    before = context(running)
    publish(running, kind, **data)
    assert context(running) == before


def test_whoever_watches_the_context_gets_no_notice_of_a_selection_in_such_a_note(
    running: Any, modern: Callable[..., Any]
) -> None:
    publish(running, "active_note_set", note="Diary.md")
    agent = modern(running, "agent")
    uri = "workspace://context"
    agent.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
    assert agent.notice()["method"] == "notifications/subscriptions/acknowledged"
    publish(running, "selection_changed", note="Diary.md", startLine=5, endLine=5)
    noticed, until_s = list[Any](), time.monotonic() + 20 * COALESCE_S
    while not noticed and time.monotonic() < until_s:
        noticed = agent.notices_before("resources/read", uri=uri)
    assert noticed == []


def test_a_renamed_note_on_request_is_not_counted(running: Any) -> None:
    publish(running, "note_pinned", note="Diary.md")
    reconcile(running)
    assert context(running)["withheld"] == 0
    # Before the file moves, so that no watcher reads it first.
    publish(running, "note_renamed", **{"from": "Diary.md", "to": "Moved.md"})
    assert context(running)["withheld"] == 0


@pytest.mark.xfail(strict=True, reason="Without the index, what the log says of a note that is gone is `never`")
def test_a_deleted_note_on_request_is_not_counted_after_the_index_was_lost(running: Any) -> None:
    publish(running, "note_pinned", note="Diary.md")
    reconcile(running)
    (running.vault / "Diary.md").unlink()
    reconcile(running)
    assert context(running)["withheld"] == 0
    running.stop()
    shutil.rmtree(running.data / "cache")
    running.start()
    reconcile(running)
    assert context(running)["withheld"] == 0


# -- whether a selection's text may be recorded --


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """An indexed vault, whose notes have settled and which no watcher tells of changes."""
    for note in (HOME_NOTE, OTHER):
        (tmp_path / note).write_text(HOME)
    made = Vault(tmp_path, clock_ns=lambda: time.time_ns() + 10**11)
    made.reconcile()
    assert made.volunteers(HOME_NOTE) and made.volunteers(OTHER)
    yield made
    made.close()


def test_a_note_whose_file_changed_since_it_was_indexed_is_not_known_to_be_volunteered(vault: Vault) -> None:
    (vault.root.path / HOME_NOTE).write_text(PRIVATE)
    assert not vault.volunteers(HOME_NOTE)


def test_a_note_that_a_rule_just_written_names_is_not_known_to_be_volunteered(vault: Vault) -> None:
    (vault.root.path / ".workspacedignore").write_text(f"#: on-request\n{OTHER}\n")
    assert not vault.volunteers(OTHER)
