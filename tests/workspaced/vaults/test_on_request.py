"""Notes for explicit requests only, in a running daemon: which calls and prompts show one, what is recorded."""

import json
import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.tool_fixtures import later_ns

from workspaced.limits import COALESCE_S
from workspaced_events.ids import NoteId
from workspaced_tools.vault.vault import Vault

Json = dict[str, Any]
FLAG = "---\nworkspaced: on-request\n---\n"
NOTES = {
    "home.md": "# Home\n\nSee [[Diary]]. zebra\n",
    "Diary.md": f"{FLAG}# Diary\n\nDear diary, xyzzy zebra. [[home]]\n",
    "asked/Plan.md": "# Plan\n\nquagga\n",
    "never/Secret.md": "# Secret\n",
    ".workspacedignore": "never/\n#: on-request\nasked/\n",
}
SETTINGS = {"provider": "anthropic", "model": "m", "contextWindow": 50_000, "outputReserve": 1_000}


@pytest.fixture
def running(daemon: Callable[..., Any]) -> Any:
    made = daemon(notes=NOTES, start=False)
    for note in NOTES:
        os.utime(made.vault / note, ns=(1, time.time_ns() - 10**12))
    made.start()
    made.reconcile()
    return made


def look_at(running: Any, note: str, text: str = "Dear diary, xyzzy zebra.") -> None:
    running.publish("note_pinned", note=note)
    running.publish("active_note_set", note=note)
    running.publish("selection_changed", note=note, startLine=5, endLine=5, text=text)


@pytest.mark.fault(row=67)
def test_who_asks_for_it_is_shown_it_and_all_else_is_not(running: Any) -> None:
    look_at(running, "Diary.md")
    assert "xyzzy" in running.ask("get_current_note", includeLinks=True)["data"]["content"]
    for reference in ("Diary", "Diary.md", "[[Diary]]"):
        assert running.ask("get_note_by_reference", reference=reference)["data"]["id"] == "Diary.md"
    assert running.ask("get_note_by_reference", reference="[[Diary]]", **{"from": "home"})["success"]
    found = running.ask("search_workspace", query="zebra")["data"]
    assert {each["id"] for each in found["results"]} == {"home.md", "Diary.md"} and found["total"] == 2
    assert running.ask("search_workspace", query="quagga", scope="vault")["data"]["total"] == 1
    home = running.ask("get_note_by_reference", reference="home", includeLinks=True)["data"]["links"]
    assert not home["outgoing"][0]["exists"] and home["incomingTotal"] == 0
    for tool, arguments in (
        ("get_workspace_context", {"includeContent": True}),
        ("get_workspace_summary", {}),
        ("get_navigation_history", {}),
        ("get_related_notes", {"reference": "home"}),
        ("get_related_notes", {"reference": "Diary"}),
        ("get_note_diff", {"reference": "Diary"}),
    ):
        answer = running.ask(tool, **arguments)
        said = json.dumps({**answer, "error": ""})
        assert "Diary" not in said and "xyzzy" not in said, tool
    context = running.ask("get_workspace_context")["data"]
    assert context["activeNote"] is None and context["withheld"] == 0


def test_the_status_that_agents_see_is_that_of_a_vault_without_the_note(
    daemon: Callable[..., Any], modern: Callable[..., Any]
) -> None:
    counts = []
    for notes in (NOTES, {name: text for name, text in NOTES.items() if name != "Diary.md"}):
        made = daemon(notes=notes)
        made.reconcile()
        agent = modern(made, "agent")
        agent.result("tools/list")
        [vault] = agent.result("workspaced/status")["vaults"]
        counts.append((vault["withheld"], vault["index"]))
        agent.wire.close()
    assert counts[0] == counts[1]


def test_whoever_watches_the_context_gets_no_notice_of_a_selection_in_such_a_note(
    running: Any, modern: Callable[..., Any]
) -> None:
    running.publish("active_note_set", note="Diary.md")
    agent = modern(running, "agent")
    uri = "workspace://context"
    agent.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
    assert agent.notice()["method"] == "notifications/subscriptions/acknowledged"
    running.publish("selection_changed", note="Diary.md", startLine=5, endLine=5)
    noticed, until_s = list[Any](), time.monotonic() + 20 * COALESCE_S
    while not noticed and time.monotonic() < until_s:
        noticed = agent.notices_before("resources/read", uri=uri)
    assert noticed == []


NOT_VOLUNTEERED = ("Diary.md", "asked/Plan.md", "never/Secret.md", "nowhere.md")


@pytest.mark.fault(row=67)
def test_a_selections_text_is_recorded_only_of_a_note_that_is_volunteered(running: Any) -> None:
    for note, more in (*((note, "") for note in NOT_VOLUNTEERED), ("Diary.md", "x" * 9_000)):
        look_at(running, note, f"SELECTED {more}")
        selected = json.loads(running.cli("state", "--json").stdout)["selection"]
        assert (selected["startLine"], selected.get("text"), selected.get("textSha256")) == (5, None, None), note
    look_at(running, "home.md", "VOLUNTEERED")
    running.stop()
    kept = b"".join(file.read_bytes() for file in running.data.rglob("*") if file.is_file())
    assert b"SELECTED" not in kept and b"VOLUNTEERED" in kept
    long = sha256(f"SELECTED {'x' * 9_000}".encode()).hexdigest()
    assert not any(long in file.name for file in running.data.rglob("*")), "nor is the blob of a long one kept"


HOME_NOTE, OTHER = NoteId("home.md"), NoteId("other.md")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """An indexed vault, whose notes have settled and which no watcher tells of changes."""
    for note in (HOME_NOTE, OTHER):
        (tmp_path / note).write_text("# Home\n")
    made = Vault(tmp_path, clock_ns=later_ns)
    made.reconcile()
    assert made.volunteers(HOME_NOTE) and made.volunteers(OTHER)
    yield made
    made.close()


def test_a_note_whose_file_or_rule_changed_since_it_was_indexed_is_not_known_to_be_volunteered(
    vault: Vault,
) -> None:
    (vault.root.path / HOME_NOTE).write_text("---\nworkspaced: private\n---\n# Home\n")
    assert not vault.volunteers(HOME_NOTE) and vault.volunteers(OTHER)
    (vault.root.path / ".workspacedignore").write_text(f"#: on-request\n{OTHER}\n")
    assert not vault.volunteers(OTHER)


def test_a_selection_without_a_vault_is_one_of_the_vault_that_was_switched_to(daemon: Callable[..., Any]) -> None:
    running = daemon(start=False)
    other = running.root / "other"
    other.mkdir()
    (other / "a.md").write_text("---\nworkspaced: private\n---\n# Alpha\n")
    running.flags = ("--vault", str(other))
    client = running.start().connect()
    client.call("workspaced/reconcile")
    running.publish("vault_switched", vaultId="vault")
    wire = running.wire()
    for kind, data in (
        ("vault_switched", {"vaultId": "other"}),
        ("active_note_set", {"note": "a.md"}),
        ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "text": "SELECTED"}),
    ):
        wire.request("workspaced/publish", {"actions": [{"type": kind, "data": data}]})
    for _ in range(3):
        wire.line()
    state = client.state()
    assert (state["currentVaultId"], state["selection"]["note"]) == ("other", "a.md")
    running.stop()
    assert b"SELECTED" not in b"".join(file.read_bytes() for file in running.data.rglob("*") if file.is_file())


def talk(running: Any, *attachments: Json, message: str = "m1") -> str:
    """What a prompt holds that ends with a message which attaches this."""
    with running.connect("runtime") as client:
        said = {"id": message, "role": "user", "text": "What?", "attachments": list(attachments)}
        client.call("workspaced/context/message", {"conversation": "talk", "messages": [said]})
        return json.dumps(client.call("workspaced/context/assemble", {"conversation": "talk"}))


@pytest.fixture
def talking(running: Any) -> Any:
    running.call("workspaced/context/start", {"conversation": "talk", **SETTINGS})
    return running


@pytest.mark.parametrize("name", ["Diary.md", "Diary", "[[Diary]]"])
def test_a_prompt_holds_it_where_a_message_attaches_it_by_name_and_from_then_on(talking: Any, name: str) -> None:
    assert "xyzzy" in talk(talking, {"kind": "note", "id": name})
    assert "xyzzy" in talk(talking, message="m2"), "a transcript only grows"
    (talking.vault / "Diary.md").write_text("---\nworkspaced: private\n---\n# Diary\n\nxyzzy\n")
    assert "xyzzy" not in talk(talking, message="m3"), "until it is withheld"


KINDS = ("workspace", "open-files", "recent-changes", "linked-files")


@pytest.mark.fault(row=67)
def test_a_prompt_holds_it_for_no_other_reason(talking: Any) -> None:
    look_at(talking, "Diary.md")
    with talking.connect("runtime") as client:
        named = ({"kind": "linked-files", "path": "home.md"}, {"kind": "folder", "folder": ""})
        pins = (*({"kind": kind} for kind in KINDS), *named, {"kind": "note", "path": "Diary.md"})
        for number, pin in enumerate(pins):
            client.call("workspaced/context/pin", {"conversation": "talk", "id": f"p{number}", **pin})
    kinds = ("active_note", "selected_text")
    prompt = talk(talking, *({"kind": kind} for kind in kinds), {"kind": "folder", "id": "asked"})
    assert "xyzzy" not in prompt and "quagga" not in prompt and "# Diary" not in prompt
