"""What agents are told in one session of a user in Neovim: the exact texts, and their replay."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import DATA
from support.neovim import NVIM
from support.told_session import NOTES, told_in

RUNTIMES = {
    "claude": (DATA / "runtimes/claude/UserPromptSubmit.json", {}),
    "gemini": (DATA / "runtimes/gemini/BeforeAgent.json", {}),
    "cursor": (None, {"hook_event_name": "postToolUse", "conversation_id": "c-1", "cursor_version": "2"}),
}
"""One that takes tags, one that takes none, and one that is told after a tool: the JSON of its hook."""

pytestmark = pytest.mark.skipif(NVIM is None, reason="nvim is not installed (Debian: apt-get install neovim)")


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUNTIMES)
def test_a_session_is_told_word_for_word_and_replays(daemon: Any, name: str) -> None:
    running = daemon(notes=NOTES)
    recorded, fields = RUNTIMES[name]
    event = {**(json.loads(recorded.read_text()) if recorded is not None else fields), "cwd": str(running.vault)}
    times = 0

    def tell(prompt: str) -> str:
        nonlocal times
        typed = {"prompt": prompt} if recorded is not None else {}
        stdin = json.dumps({**event, **typed}).encode()
        done = running.cli("hook", name, "--timeout", "30", stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        times += bool(done.stdout)
        return text_of(json.loads(done.stdout)) if done.stdout else ""

    told = told_in(running, tell)
    assert told == golden(name).read_text()
    assert running.stop() == 0
    done = running.cli("replay", "--verify", str(running.data))
    assert done.returncode == 0 and f"{times} answer the same" in done.stdout


def golden(name: str) -> Path:
    """The texts of runtimes that take tags are the same."""
    return DATA / "told" / ("gemini.txt" if name == "gemini" else "tagged.txt")


def text_of(answer: dict[str, Any]) -> str:
    """The text in the answer of a hook, in whatever form."""
    inner = answer.get("hookSpecificOutput", answer)
    return str(inner.get("additionalContext") or inner["additional_context"])
