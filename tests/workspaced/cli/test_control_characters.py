"""A terminal obeys what it is sent: no command sends it signs of a note, a client or a log that nobody sees."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from support import process
from support.commands import COMMANDS
from support.daemon import STOP_S

from workspaced import replay

EVIL = "x\x9b31m\u202e\u200b\x1b[2Jy"
"""A control sequence in one byte and in two, a bidi control, a zero-width space."""
NOTE = f"n{EVIL}.md"
NOTES = {
    NOTE: f"---\ntitle: {json.dumps(EVIL)}\ntags: [plain]\n---\n# {EVIL}\n\nSome words {EVIL} and more.\n",
    "b.md": f"# Beta\n\n[[n{EVIL}]]\n",
}
NOT_RUN = {
    **dict.fromkeys(
        ("demo", "start", "serve", "mcp", "ide", "lsp", "proxy", "inspect", "watch", "traces"),
        "serves, follows or sends",
    ),
    **dict.fromkeys(("completion", "manual", "path", "schema", "service install"), "the program's own words"),
    **dict.fromkeys(("stop", "pause", "resume", "forget", "log salvage"), "ends or changes it"),
    **dict.fromkeys(("approve", "invite", "join", "leave", "map", "new", "remove"), "need a link"),
    "server-config": "needs a link",
}
"""Commands that are not run here, by their name or the last word of it."""


@pytest.fixture(scope="module")
def used(module_daemon: Any) -> Any:
    """A daemon whose log, notes and clients hold nasty names and texts."""
    running = module_daemon(notes=NOTES)
    settings = running.root / "home/.cursor/mcp.json"
    settings.parent.mkdir()
    entry = {"command": "workspaced", "args": ["mcp", "--vault", f"/{EVIL}"]}
    settings.write_text(json.dumps({"mcpServers": {EVIL: entry}}, ensure_ascii=False, indent=1))
    with running.connect(f"agent{EVIL}") as client:
        selection = {"note": NOTE, "startLine": 1, "endLine": 1, "text": EVIL}
        for type_, data in (
            ("note_pinned", {"note": NOTE}),
            ("active_note_set", {"note": NOTE}),
            ("selection_changed", selection),
        ):
            client.publish([{"type": type_, "data": data}])
        client.tool("get_current_note")
        client.tool("search_workspace", {"query": f"words {EVIL}"})
        client.tool("get_note_by_reference", {"reference": EVIL})
        talk = {"conversation": f"talk{EVIL}"}
        settings = {"provider": "anthropic", "model": f"m{EVIL}", "contextWindow": 100_000, "outputReserve": 1_000}
        client.call("workspaced/context/start", {**talk, **settings})
        for number in (1, 2):
            message = {"id": f"m{number}{EVIL}", "role": "user", "text": EVIL}
            message["attachments"] = [{"kind": "note", "id": NOTE}]
            client.call("workspaced/context/message", {**talk, "messages": [message]})
            client.call("workspaced/context/assemble", talk)
        client.call("workspaced/calls")
    return running


def commands(running: Any) -> list[list[str]]:
    data, note = str(running.data), NOTE
    calls = [json.loads(line)["seq"] for line in running.cli("calls", "list", "--json").stdout.splitlines()]
    one, two, three = map(str, sorted(calls)[:3])
    with replay.open(running.data) as log:
        prompt = str(log.prompts()[0].seq)
    talk = f"talk{EVIL}"
    export, shrunk, bundle = (str(running.root / name) for name in ("log.jsonl", "shrunk.jsonl", "made.wsb"))
    return [
        ["status"],
        ["doctor"],
        ["uninstall", "--dry-run"],
        ["publish", "active_note_set", f"note={note}"],
        ["publish", "active_note_set", "note=nosuch.md"],
        ["publish", f"fly{EVIL}"],
        ["state"],
        ["tools"],
        ["agents"],
        ["call", "get_current_note"],
        ["call", "get_workspace_context"],
        ["call", "search_workspace", "query=words"],
        ["call", "get_note_by_reference", f"reference={EVIL}"],
        ["call", f"fly{EVIL}"],
        ["calls", "list"],
        ["calls", "show", one],
        ["calls", "show", two],
        ["calls", "show", three],
        ["calls", "show", one, "--text"],
        ["calls", "diff", one, two],
        ["context", "list"],
        *(["context", "show", talk, *form] for form in ([], ["--layers"], ["--manifest"], ["--cache"])),
        ["context", "show", f"talk{EVIL}none"],
        ["log", "export", "-o", export],
        ["context", "export", talk, "-o", f"{export}.md"],
        ["connect"],
        ["connect", "cursor", "--vault", str(running.vault), "--dry-run"],
        ["hook", "claude", "--show"],
        ["share"],
        ["share", f"agent{EVIL}", "all"],
        ["share", f"stranger{EVIL}", "all"],
        ["why", note],
        ["memory", "list"],
        ["memory", "undo", "1"],
        ["link", "status"],
        ["log", "show", "--data-dir", data],
        ["log", "search", "words"],
        ["log", "find", data, "--when", "activeNote"],
        ["log", "shrink", data, "--when", "activeNote", "-o", shrunk],
        ["log", "verify", "--data-dir", data],
        ["replay", data],
        ["replay", data, "--verify"],
        *(["replay", data, "--prompt", prompt, *form] for form in ([], ["--without", note], ["--without", EVIL])),
        ["judge", two, "wrong", "--wanted", EVIL, "--why", EVIL],
        ["judge", prompt, "wrong", "--wanted", EVIL],
        ["eval", "export", data, "--to", "pytest", "-o", f"{bundle}{EVIL}tests"],
        ["eval", "export", data, "--to", "inspect", "-o", f"{bundle}{EVIL}task"],
        ["bundle", "-o", bundle],
        ["log", "backup", f"{bundle}{EVIL}"],
    ]


def assert_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), line


@pytest.mark.thorough
def test_no_command_says_what_a_terminal_obeys(used: Any) -> None:
    said = ""
    for words in commands(used):
        for form in ([], ["--json"]):
            done = used.cli(*words, *form)
            assert_harmless(done.stdout)
            assert_harmless(done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
            said += done.stdout + done.stderr
    assert said.count("\\x9b31m") > 100 and said.count("\\u009b31m") > 50, "so much of it was to be said"


def test_each_command_is_run_or_named_with_a_reason(used: Any) -> None:
    names = {" ".join(path) for path in COMMANDS}
    run = {" ".join(words[:length]) for words in commands(used) for length in (1, 2)}
    assert {name for name in names - run if not {name, name.split()[-1]} & NOT_RUN.keys()} == set()


def test_nor_does_the_log_of_a_program() -> None:
    logs = "import logging; from workspaced.terminal.printing import log_to_stderr; log_to_stderr()"
    code = f"{logs}; logging.warning({EVIL!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert_harmless(done.stderr)
    assert "\\x9b31m" in done.stderr


@pytest.mark.parametrize(
    "words",
    [["log", "export"], ["context", "export", f"talk{EVIL}"], ["calls", "show", "{first}", "--result"]],
    ids=" ".join,
)
def test_exact_bytes_go_to_a_pipe_and_their_text_to_a_terminal(used: Any, words: list[str]) -> None:
    first = json.loads(used.cli("calls", "list", "--json").stdout.splitlines()[-1])["seq"]
    words = [each.format(first=first) if each == "{first}" else each for each in words]
    assert "\u202e" in used.cli(*words).stdout, "to a pipe every byte as it is"
    ours, theirs = pty.openpty()
    running = process.spawn(*words, env={**used.env, "NO_COLOR": "1"}, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # Linux: nobody writes to it any more
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    assert running.wait(STOP_S) == 0
    text = shown.decode().replace("\r\n", "\n")
    assert_harmless(text)
    assert "\\u202e" in text
