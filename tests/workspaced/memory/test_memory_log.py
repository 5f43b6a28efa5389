"""What the log keeps of the memory: calls that verify, a redacted bundle, texts that are forgotten."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from support.daemon import refusal
from support.memory import FLAGS, file, refused, said, undo, writes
from support.talk import files_telling

CANARY = "Geheimwort"


def play(agent: Any, other: str = CANARY) -> None:
    """Every command, with and without success. `other`: names files that are not there."""
    path = "/memories/work/geheimplan.md"
    said(agent, "create", path, file_text=f"The word is {CANARY}.\nAnd more.\n")
    said(agent, "view", path, view_range=[1, 2])
    said(agent, "view", path, view_range=[2, -1])
    said(agent, "view", "/memories")
    said(agent, "str_replace", path, old_str="more", new_str=f"more {CANARY}")
    said(agent, "insert", path, insert_line=1, insert_text=f"Between: {CANARY}")
    refused(agent, "create", path, file_text="again")
    refused(agent, "str_replace", path, old_str=CANARY, new_str="x")
    refused(agent, "view", f"/memories/{other}.md")
    refused(agent, "view", "/etc/passwd")
    refused(agent, "view", path, view_range=[9, 12])
    refused(agent, "insert", path, insert_line=9, insert_text="x")
    refused(agent, "create", f"/memories/{other}-2.md")
    said(agent, "rename", old_path="/memories/work", new_path="/memories/old")
    said(agent, "delete", "/memories/old/geheimplan.md")


def verified(running: Any, log: Path) -> list[dict[str, Any]]:
    done = running.cli("replay", str(log), "--verify", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.stdout, done.stderr)
    return lines


def test_recorded_calls_verify_in_the_log_and_in_a_redacted_bundle_that_tells_no_word_of_it(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        play(agent)
        assert len(agent.call("workspaced/calls", {"tool": "memory"})["calls"]) == 15
        before, seq = sorted(running.vault.rglob("*")), agent.call("workspaced/status")["seq"]
        verified(running, running.data)
        after = sorted(running.vault.rglob("*")), agent.call("workspaced/status")["seq"]
        assert after == (before, seq), "a replay writes nothing"
    bundle = running.root / "bundle.zip"
    done = running.cli("bundle", "--redact", "-o", str(bundle))
    assert done.returncode == 0 and "lost" not in done.stderr, done.stderr
    with ZipFile(bundle) as made:
        for name in made.namelist():
            text = (name + made.read(name).decode(errors="replace")).lower()
            assert CANARY.lower() not in text and "geheimplan" not in text, name
    verified(running, bundle)


def forgotten(running: Any, name: str) -> None:
    """Forgets a file, of which the data directory tells nothing then."""
    words = (CANARY.casefold(), "geheim")
    assert files_telling(running.data, words)
    arguments = ("forget", name, "--yes", "--data-dir", str(running.data))
    done = running.cli(*arguments, env={"WORKSPACED_MEMORY": "Memory", **running.env})
    assert done.returncode == 0, done.stderr
    assert files_telling(running.data, words) == []


def test_forgetting_a_note_of_the_memory_removes_its_texts_under_all_its_names(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        play(agent, "elsewhere")
        said(agent, "create", "/memories/other.md", file_text="Another text.\n")
        kept = writes(agent)[-1]["seq"]
    running.stop()
    forgotten(running, "Memory/old/geheimplan.md")
    running.start()
    with running.connect("agent") as agent:
        assert [write["seq"] for write in writes(agent)] == [kept]
        assert refusal(undo, agent, kept - 1).code == "INVALID_ARGUMENT"
        undo(agent, kept)
        assert not file(running, "other.md").exists()
        assert running.cli("log", "verify", "--data-dir", str(running.data)).returncode == 0


def test_a_file_that_is_no_note_is_forgotten_too(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        said(agent, "create", "/memories/geheim.txt", file_text=CANARY)
    running.stop()
    forgotten(running, "/memories/geheim.txt")


def test_a_folder_beside_the_vaults_is_written_undone_and_forgotten(daemon: Any) -> None:
    running = daemon(start=False)
    beside = running.root / "beside"
    running.flags = ("--memory", str(beside))
    running.start()
    with running.connect("agent") as agent:
        said(agent, "create", "/memories/plan.md", file_text=CANARY)
        assert (beside / "plan.md").read_text() == CANARY
        [write] = writes(agent)
        assert write["path"] == "/memories/plan.md"
        undo(agent, undo(agent, write["seq"]))
        assert (beside / "plan.md").read_text() == CANARY
        assert not file(running, "").exists()
    running.stop()
    running.env["WORKSPACED_MEMORY"] = str(beside)
    forgotten(running, "/memories/plan.md")
