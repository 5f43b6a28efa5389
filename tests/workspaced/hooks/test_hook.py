"""`workspaced hook`: tells what changed, once, records it, and is never in the way."""

import json
import signal
import zipfile
from typing import Any

from support import DATA

from workspaced.hooks.hook import RUNTIMES, moment

CLAUDE = {"hook_event_name": "UserPromptSubmit", "session_id": "s-1", "prompt": "What is this?"}


def hook(
    running: Any, runtime: str = "claude", sent: Any = None, *options: str, **fields: Any
) -> dict[str, Any] | None:
    """What the hook writes: the runtime's answer, or None for nothing."""
    whole = {**CLAUDE, "cwd": str(running.vault), **fields} if sent is None else sent
    stdin = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
    done = running.cli("hook", runtime, "--timeout", "30", *options, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout) if done.stdout else None


def told(running: Any, runtime: str = "claude", **fields: Any) -> str:
    """The text that the agent is given; empty for nothing."""
    answer = hook(running, runtime, **fields)
    return answer["hookSpecificOutput"]["additionalContext"] if answer is not None else ""


def volunteered(running: Any) -> list[dict[str, Any]]:
    return [{**each["data"], "seq": each["seq"]} for each in running.events("context_volunteered")]


def test_the_first_prompt_is_told_everything_and_the_next_only_what_changed(world: Any) -> None:
    first = told(world)
    assert first.splitlines()[1:] == [
        f"vault: {world.vault} (read its notes as files, or ask workspaced's get_note_by_reference)",
        "looking at: Plan.md",
        "</workspace>",
    ]
    assert told(world) == ""
    world.publish("note_pinned", note="Budget.md")
    world.publish("selection_changed", note="Plan.md", startLine=3, endLine=4)
    assert told(world).splitlines()[1:] == [
        "looking at: Plan.md, lines 3-4 selected:",
        "| one",
        "| two",
        "pinned since: Budget.md",
        "</workspace>",
    ]
    assert told(world) == ""
    assert "pinned: Budget.md" in told(world, session_id="another")
    world.publish("selection_changed", note="Plan.md", startLine=3, endLine=3, text="")
    assert "selected" not in told(world), "a cursor is no selection"
    world.call("workspaced/calls")  # the text that was read is kept by then
    world.add({"Plan.md": "# Plan\n\none\n2\n3\n"})
    assert told(world).splitlines()[1:-1] == ["edited: Plan.md (+2 -1)"]


def test_what_was_told_is_in_the_log_and_replays(world: Any) -> None:
    first = told(world)
    world.publish("note_pinned", note="Budget.md")
    second = told(world)
    one, two = volunteered(world)
    assert [one["caller"], one["session"], one["event"]] == ["claude-code", "s-1", "UserPromptSubmit"]
    assert "fromSeq" not in one and two["fromSeq"] == one["asOfSeq"]
    assert world.stop() == 0
    done = world.cli("replay", "--verify", str(world.data))
    assert done.returncode == 0 and "2 answer the same" in done.stdout
    shown = world.cli("calls", "show", "--result", str(two["seq"]), str(world.data))
    assert "pinned since: Budget.md" in shown.stdout and "pinned since: Budget.md" in second and first != second


def test_what_a_runtime_did_not_take_is_told_again(world: Any) -> None:
    asked = {"client": "claude-code", "session": "s-1", "event": "UserPromptSubmit", "folders": [str(world.vault)]}
    offered = world.call("workspaced/volunteer", asked)
    assert world.call("workspaced/volunteer", asked)["reason"] == "offered"
    preview = world.call("workspaced/volunteer/preview", {"client": "claude-code", "session": "s-1"})
    assert preview["text"] == offered["text"] and not volunteered(world)
    assert world.call("workspaced/volunteer/confirm", {"token": offered["token"]}) == {"recorded": True}
    assert world.call("workspaced/volunteer/confirm", {"token": offered["token"]}) == {"recorded": False}
    assert world.call("workspaced/volunteer", asked)["reason"] == "nothingNew"
    assert len(volunteered(world)) == 1


def test_what_no_person_typed_gets_nothing(world: Any) -> None:
    assert told(world, agent_id="a-7") == ""
    assert told(world, hook_event_name="PreToolUse") == ""
    assert told(world, prompt="") == ""
    assert told(world, prompt="<task-notification>done</task-notification>") == ""
    assert told(world)


GEMINI = json.loads((DATA / "runtimes" / "gemini" / "BeforeAgent.json").read_text())
COPILOT = json.loads((DATA / "runtimes" / "copilot" / "UserPromptSubmit.json").read_text())
CURSOR = {"hook_event_name": "sessionStart", "conversation_id": "c-1", "cursor_version": "2", "generation_id": "g"}
VSCODE = {"hookEventName": "SessionStart", "sessionId": "v-1", "source": "new"}


CODEX = {**CLAUDE, "turn_id": "t", "model": "m", "transcript_path": None}
FORMS = [
    ("gemini", GEMINI, "hookSpecificOutput", "gemini-cli-mcp-client"),
    ("cursor", CURSOR, "additional_context", "cursor-vscode"),
    ("copilot", COPILOT, "additionalContext", "copilot-cli"),
    ("codex", CODEX, "hookSpecificOutput", "codex-mcp-client"),
    ("claude", COPILOT, "additionalContext", "copilot-cli"),
    ("claude", CURSOR, "additional_context", "cursor-vscode"),
    ("claude", VSCODE, "hookSpecificOutput", "Visual Studio Code"),
]
"""The runtime that a hook was installed for, what is sent, the member that is answered, and who is told."""


def test_each_runtime_gets_its_own_form_also_from_a_hook_of_claudes_settings(world: Any) -> None:
    for number, (runtime, sent, member, _) in enumerate(FORMS):
        session = {name: f"s-{number}" for name in ("session_id", "sessionId", "conversation_id") if name in sent}
        place = {"cwd": str(world.vault), "workspace_roots": [str(world.vault)]}
        answer = hook(world, runtime, {**sent, **session, **place})
        assert answer is not None and list(answer) == [member], (runtime, answer)
        if runtime == "gemini":
            inner = answer[member]
            assert inner["hookEventName"] == "BeforeAgent" and "<" not in inner["additionalContext"]
    assert [each["caller"] for each in volunteered(world)] == [caller for *_, caller in FORMS]


TOLD = {
    "claude/UserPromptSubmit": "difference",
    "claude/SessionStart-compact": "whole",
    "codex/UserPromptSubmit": "difference",
    "codex/SessionStart-compact": "whole",
    "gemini/BeforeAgent": "difference",
    "gemini/PreCompress-manual": "nothing",
    "copilot/UserPromptSubmit": "difference",
}


def test_of_the_recorded_events_those_that_take_context_are_told() -> None:
    for path in (DATA / "runtimes").glob("*/*.json"):
        found = moment(path.parent.name, json.loads(path.read_text()))
        assert (found and found.tell) == TOLD.get(f"{path.parent.name}/{path.stem}")
        if found is not None:
            assert found.runtime is RUNTIMES[path.parent.name] and found.folder == "/home/u/notes"


def test_only_an_agent_that_works_for_a_vault_is_told_of_it(world: Any) -> None:
    outside = world.root / "elsewhere"
    outside.mkdir()
    (world.vault / "out").symlink_to(outside)
    assert told(world, cwd=str(outside)) == ""
    assert told(world, cwd=str(world.vault / "out")) == ""
    assert hook(world, "claude", None, "--vault", str(world.vault), cwd=str(outside)) is not None
    (world.vault / "deep").mkdir()
    assert "Plan.md" in told(world, cwd=str(world.vault / "deep"), session_id="s-2")


def test_a_clients_level_and_setting_hold(world: Any) -> None:
    world.publish("selection_changed", note="Plan.md", startLine=3, endLine=3)
    assert world.cli("share", "claude-code", "--volunteer", "selection-off").returncode == 0
    assert "selected" not in told(world)
    assert world.cli("share", "claude-code", "--volunteer", "off").returncode == 0
    assert told(world, session_id="s-2") == ""
    assert world.cli("share", "claude-code", "names", "--volunteer", "on").returncode == 0
    names = told(world, session_id="s-3")
    assert "Plan.md" in names and str(world.vault) not in names and "selected" not in names
    assert world.cli("share", "claude-code", "none").returncode == 0
    assert told(world, session_id="s-4") == ""


HOSTILE = {
    "no JSON": b"{",
    "nothing": b"",
    "a list": b"[]",
    "nested": b"[" * 100_000,
    "no UTF-8": b"\xff\xfe",
    "other types": json.dumps({**CLAUDE, "session_id": 7}).encode(),
    "a folder that is none": json.dumps({**CLAUDE, "cwd": "a\0b"}).encode(),
    "a folder of numbers": json.dumps({**CLAUDE, "cwd": 7}).encode(),
    "too long": json.dumps({**CLAUDE, "prompt": "x" * 2_000_000}).encode(),
}


def test_bad_input_gets_nothing_and_no_error(world: Any) -> None:
    for case, sent in HOSTILE.items():
        assert hook(world, "claude", sent) is None, case
    assert told(world, session_id="x" * 10_000)
    assert told(world, session_id="x" * 10_000) == "", "one session, of whatever length"
    assert len(volunteered(world)[0]["session"]) == 64


def test_without_a_daemon_and_with_one_that_hangs_it_prints_nothing(world: Any) -> None:
    world.send_signal(signal.SIGSTOP)
    try:
        assert hook(world, "claude", None, "--timeout", "0.2") is None
    finally:
        world.send_signal(signal.SIGCONT)
    assert world.stop() == 0
    assert told(world) == ""


def test_a_wrong_command_line_is_an_error_that_blocks_no_prompt(world: Any) -> None:
    for wrong in (["emacs"], ["claude", "--json"], ["claude", "--timeout", "0"], []):
        done = world.cli("hook", *wrong, stdin=b"{}")
        assert done.returncode == 1 and "Error" in done.stderr, wrong


def files(running: Any) -> dict[str, bytes]:
    """The data directory's files but the vault's index."""
    return {
        str(path): path.read_bytes()
        for path in running.data.rglob("*")
        if path.is_file() and "cache" not in path.relative_to(running.data).parts
    }


def test_neither_the_prompt_nor_a_note_that_is_forgotten_or_redacted_stays_in_the_log(world: Any) -> None:
    assert told(world, prompt="a very private question", transcript_path="/home/me/private.jsonl")
    world.publish("note_pinned", note="Budget.md")
    assert "Budget.md" in told(world)
    world.publish("note_unpinned", note="Budget.md")
    assert told(world)
    bundle = world.root / "bug.wsb"
    assert world.cli("bundle", "--redact", "-o", str(bundle)).returncode == 0
    done = world.cli("replay", "--verify", str(bundle))
    assert done.returncode == 0 and "3 answer the same" in done.stdout, done.stdout
    with zipfile.ZipFile(bundle) as held:
        assert not any(b"Plan.md" in text or b"Budget" in text for text in map(held.read, held.namelist()))
    assert world.stop() == 0
    assert not any(b"private" in text for text in files(world).values())
    (world.vault / "Budget.md").unlink()
    assert world.cli("forget", "Budget.md", "--data-dir", str(world.data), "--yes").returncode == 0
    assert not any(b"Budget" in text for text in files(world).values())
    assert world.cli("replay", "--verify", str(world.data)).returncode in (0, 3)
