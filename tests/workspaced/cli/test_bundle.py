"""`workspaced bundle`: one file from a running daemon or a directory, which replays where nothing else is."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from support.stored_logs import outcomes

SECRET = "Zanzibarium"
NOTES = {
    "a.md": f"---\ntitle: Alpha\ntags: [{SECRET}]\n---\n# A\n\nSee [[b]] and [[{SECRET} plan]].\n",
    "b.md": "# Beta\n\nBack to [[a]].\n",
    f"{SECRET}/plan.md": f"# {SECRET} plan\n\nNothing but {SECRET}.\n",
}


def use(running: Any) -> None:
    """A user looks at notes, and an agent asks."""
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.publish([{"type": "note_pinned", "data": {"note": f"{SECRET}/plan.md"}}])
        for tool, arguments in (
            ("get_workspace_context", {"includeContent": True}),
            ("get_current_note", {"includeLinks": True}),
            ("search_workspace", {"query": SECRET.lower()}),
            ("get_note_by_reference", {"reference": f"{SECRET} plan"}),
            ("get_note_by_reference", {"reference": "nowhere"}),
        ):
            client.call("tools/call", {"name": tool, "arguments": arguments})


def contents(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_a_bundle_of_a_running_daemon_holds_the_calls_it_answered_just_now(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    done = running.cli("bundle", "-o", "bug.wsb")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    for begin, end in (("5", "3"), ("2026-03-02", "2026-03-01T12:00:00Z")):
        refused = running.cli("bundle", "-o", "none.wsb", "--from", begin, "--to", end)
        assert refused.returncode == 2, refused.stderr
        assert f"--from {begin} comes after --to {end}" in refused.stderr
    running.stop()
    shutil.rmtree(running.vault)
    shutil.rmtree(running.data)
    assert outcomes(running.root / "bug.wsb") == {"same": 5}
    replayed = json.loads(running.cli("replay", "bug.wsb", "--json").stdout)
    assert replayed["activeNote"]["id"] == "a.md"
    assert running.cli("log", "find", "bug.wsb", "--when", "pinnedNotes").returncode == 0


def test_what_is_no_whole_bundle_is_refused_by_whoever_reads_it(shared: Any) -> None:
    assert shared.cli("bundle", "-o", "whole.wsb").returncode == 0
    content = (shared.root / "whole.wsb").read_bytes()
    (shared.root / "cut.wsb").write_bytes(content[: len(content) // 2])
    for command in (("replay",), ("log", "find", "--when", "activeNote")):
        done = shared.cli(*command, "cut.wsb")
        assert done.returncode == 4
        assert "cut.wsb" in done.stderr


def talk(running: Any) -> None:
    """A conversation of two prompts, with a system text, a note and an image."""
    with running.connect("runtime") as client:
        settings = {"provider": "anthropic", "model": "m", "context_window": 90_000, "output_reserve": 0}
        client.context.start(conversation="talk", system=f"You help {SECRET}.", **settings)
        said = {"id": "m1", "role": "user", "text": f"What of {SECRET}?"}
        client.context.message("talk", {**said, "attachments": [{"kind": "note", "id": "a.md"}]})
        client.context.assemble("talk")
        call = {"id": "1", "name": "look"}
        client.context.message("talk", {"id": "m2", "role": "assistant", "toolCalls": [call]})
        image = {"text": "data:image/png;base64,iVBORw0KGgo="}
        result = {**call, "text": "Seen.", "images": [image]}
        client.context.message("talk", {"id": "m3", "role": "user", "toolResults": [result]})
        client.context.assemble("talk")


def test_a_part_of_the_log_holds_what_its_prompts_were_made_from_and_redacted_no_text(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    talk(running)
    assert running.cli("bundle", "-o", "bug.wsb", "--last", "2").returncode == 0
    held = contents(running.root / "bug.wsb")
    assert json.loads(held["manifest.json"])["missing"] == []
    assert b"\x89PNG\r\n\x1a\n" in held.values()
    verified = running.cli("replay", "bug.wsb", "--verify")
    assert verified.returncode == 0 and "1 prompt: 1 are the same" in verified.stdout, verified.stdout
    assert running.cli("bundle", "-o", "bug.wsb", "--last", "2", "--redact").returncode == 0
    held = contents(running.root / "bug.wsb")
    assert [name for name in held if "blobs/" in name] == []
    assert json.loads(held["manifest.json"])["missing"] == []
    assert json.loads(held["state.json"])["conversations"] == {}
    assert not any(SECRET.casefold().encode() in content.lower() for content in held.values())
    replayed = running.cli("replay", "bug.wsb", "--verify")
    assert replayed.returncode == 3 and "No prompt could be compared" in replayed.stderr
