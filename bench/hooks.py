"""Hooks: what a prompt waits for, what a session costs in tokens, and what a daemon keeps of them.

The rivals: a hook of a user's own that prints a file (`cat`), an interpreter that does nothing, and for the tokens
the context, or the active note, in front of every prompt.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Final

from workspaced_tools.prompts.model.token_estimate import estimate_tokens

from .daemon import Daemon, Place, daemon
from .measure import Figure, at_most, interleaved, median, percentile

PROMPTS: Final = 40
AT_ONCE: Final = 200
OFFERS: Final = 10_000
INJECTED_CHARS: Final = 8_000
CLIENT: Final = "claude-code"


def figures(at: Place) -> Iterator[Figure]:
    """All figures about hooks."""
    vault = at.new("notes")
    with resources.as_file(resources.files("workspaced.demo")) as package:
        shutil.copytree(package / "vault", vault)
        actions = [json.loads(line) for line in (package / "session.jsonl").read_text().splitlines()]
    with daemon(at, vault, name="hooks") as running:
        running.wait_for_index()
        yield from _session(running, vault, actions)
        yield from _processes(at, running, vault)
        yield from _at_once(running, vault)
        yield from _offers(at, running, vault)


# -- what it costs --


def _session(running: Daemon, vault: Path, actions: list[dict[str, Any]]) -> Iterator[Figure]:
    """The demo's session with PROMPTS prompts spread over it: tokens that are told, beside the rivals."""
    told, glued, notes, quiet = 0, 0, 0, 0
    with running.client() as client:
        done = 0
        for number in range(PROMPTS):
            upto = len(actions) * (number + 1) // PROMPTS
            if upto > done:
                client.publish(actions[done:upto])
            done = upto
            text = _volunteered(client, "session", vault)
            told += estimate_tokens(text or "")
            quiet += text is None
            context = client.tool("get_workspace_context", {})["data"]
            glued += estimate_tokens(json.dumps(context))
            current = client.tool("get_current_note", {"maxContentLength": INJECTED_CHARS})
            notes += estimate_tokens(current["data"]["content"]) if current["success"] else 0
    beside = {"told": told, "context_each_time": glued, "note_each_time": notes, "prompts": PROMPTS}
    yield Figure("hooks.tokens", told / glued, "of the context each time", at_most(0.1), fields=beside)
    yield Figure("hooks.tokens_of_note", told / notes, "of 8,000 characters of the active note each time")
    yield Figure("hooks.tokens_a_prompt", told / PROMPTS, "tokens")
    yield Figure("hooks.quiet", quiet / PROMPTS, "of the prompts have nothing to say")


def _volunteered(client: Any, session: str, vault: Path) -> str | None:
    """What a hook is given, and takes."""
    asked = {"client": CLIENT, "session": session, "event": "UserPromptSubmit", "folders": [str(vault)]}
    offered = client.call("workspaced/volunteer", asked)
    if offered["token"] is not None:
        client.call("workspaced/volunteer/confirm", {"token": offered["token"]})
    text: str | None = offered["text"]
    return text


# -- what a prompt waits for --


def _input(vault: Path, session: str) -> bytes:
    sent = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session,
        "cwd": str(vault),
        "prompt": "What is this?",
    }
    return json.dumps(sent).encode()


def _timed(command: list[str], stdin: bytes) -> float:
    started = time.perf_counter()
    subprocess.run(command, input=stdin, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def _processes(at: Place, running: Daemon, vault: Path) -> Iterator[Figure]:
    """A hook as a process, with nothing to say and with something, beside an interpreter and `cat`."""
    program = shutil.which("workspaced", path=str(Path(sys.executable).parent)) or "workspaced"
    command = [program, "hook", "claude", "--socket", str(running.socket), "--timeout", "10"]
    note = next(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
    printed = vault / note
    rounds = at.sizes.rounds * 5
    with running.client() as client:
        _volunteered(client, "quiet", vault)
        numbers = iter(range(1_000_000))

        def changed() -> float:
            line = next(numbers) % 900 + 1
            client.publish(
                [
                    {"type": "active_note_set", "data": {"note": note}},
                    {"type": "selection_changed", "data": {"note": note, "startLine": line, "endLine": line}},
                ]
            )
            return _timed(command, _input(vault, "changed"))

        quiet, news, bare, cat = interleaved(
            rounds,
            lambda: _timed(command, _input(vault, "quiet")),
            changed,
            lambda: _timed([sys.executable, "-c", "import json"], b""),
            lambda: _timed(["cat", str(printed)], b""),
        )
    beside = {"interpreter_ms": median(bare), "cat_ms": median(cat)}
    for name, times in (("quiet", quiet), ("changed", news)):
        yield Figure(f"hooks.process.{name}.p50", median(times), "ms", at_most(60), at_most(30), beside)
        yield Figure(f"hooks.process.{name}.p99", percentile(times, 0.99), "ms", at_most(120))
        yield Figure(f"hooks.process.{name}.ratio", median(times) / median(bare), "x of an interpreter")


def _at_once(running: Daemon, vault: Path) -> Iterator[Figure]:
    """Many hooks at once: whatever each is told, all end, and none fails."""
    command = [sys.executable, "-m", "workspaced", "hook", "claude", "--socket", str(running.socket)]
    started = time.perf_counter()
    hooks = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(AT_ONCE)
    ]
    outcomes = [each.communicate(_input(vault, f"at-once-{number}")) for number, each in enumerate(hooks)]
    took_s = time.perf_counter() - started
    failed = sum(each.returncode != 0 for each in hooks) + sum(bool(errors) for _out, errors in outcomes)
    beside = {"told": sum(bool(out) for out, _errors in outcomes), "seconds": took_s}
    yield Figure("hooks.at_once.failed", failed, f"of {AT_ONCE} hooks", at_most(0), fields=beside)


# -- the daemon's share --


def _offers(at: Place, running: Daemon, vault: Path) -> Iterator[Figure]:
    """The daemon's share of a hook, and its memory after many sessions."""
    note = next(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
    with running.client() as client:
        quiet, news = list[float](), list[float]()
        _volunteered(client, "share", vault)
        for number in range(at.sizes.calls):
            started = time.perf_counter()
            _volunteered(client, "share", vault)
            quiet.append((time.perf_counter() - started) * 1000)
            lines = {"startLine": number + 1, "endLine": number + 1}
            client.publish([{"type": "selection_changed", "data": {"note": note, **lines}}])
            client.publish([{"type": "active_note_set", "data": {"note": note}}])
            started = time.perf_counter()
            _volunteered(client, "share", vault)
            news.append((time.perf_counter() - started) * 1000)
        for name, times in (("quiet", quiet), ("changed", news)):
            yield Figure(f"hooks.daemon.{name}.p50", median(times), "ms")
            yield Figure(f"hooks.daemon.{name}.p99", percentile(times, 0.99), "ms", at_most(10))
        count = OFFERS // 20 if at.sizes.quick else OFFERS
        for number in range(count // 5):
            _volunteered(client, f"warm-{number}", vault)
        before_mb = running.resident_mb()
        for number in range(count):
            _volunteered(client, f"memory-{number}", vault)
        grown_mb = running.resident_mb() - before_mb
    goal = at.sizes.whole(at_most(5))
    yield Figure("hooks.memory", grown_mb, f"MB after {count} sessions", goal, fields={"before_mb": before_mb})
