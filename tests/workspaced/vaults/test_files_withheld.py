"""An agent cannot tell a vault with a withheld code file from one without it: two daemons, asked the same.

In one world the file is there, an editor shows it, and a rule or `.gitignore` withholds it; in the other there is
no such file, and the editor shows nothing in its place. Left out of the comparison are times, sequences, folders
and the count of withheld notes.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import ToolCalled

Json = dict[str, Any]
LONG_AGO_NS = 1_700_000_000_000_000_000
SECRET = "src/keys/vault_secret.py"
WORD = "xyzzy"
PUBLIC = {
    "home.md": "# Home\n\nzebra, see [[vault_secret]] and `src/keys/vault_secret.py`.\n",
    "src/main.py": "import vault_secret\n\n\ndef main():\n    print('zebra')\n",
    "src/keys/other.py": "withheld_in_both = True\n",
}
TEXT = f"class VaultSecret:\n    word = '{WORD}'  # zebra\n"
GUESSES = (
    SECRET,
    "vault_secret.py",
    "vault_secret",
    "src/keys/vault_secret",
    "VaultSecret",
    "keys/vault_secret.py",
)
RULES = {
    "never": {".workspacedignore": "/src/keys/\n"},
    "on-request": {".workspacedignore": "#: on-request\n/src/keys/\n"},
    "gitignore": {".gitignore": "keys/\n"},
}
SETTINGS = {"provider": "anthropic", "model": "m", "contextWindow": 50_000, "outputReserve": 1_000}
_DIFFERS = {
    "asOfSeq",
    "seq",
    "clock",
    "withheld",
    "tailSeq",
    "instance",
    "lastActivity",
    "lastUpdated",
    "seconds",
    "dwellSeconds",
}
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?")
_CLOCK = re.compile(r"[0-9a-f]{16}:\d+")
_COUNTED = re.compile(r"from 0 to \d+")
_FOLDER = re.compile(r"/tmp/wsd-\w+/vault")


class World:
    """One daemon with its editor, an agent and a runtime."""

    def __init__(self, daemon: Callable[..., Any], by: str, *, has_secret: bool) -> None:
        self.by = by
        notes = {**PUBLIC, **RULES[by], **({SECRET: TEXT} if has_secret else {})}
        self.running = daemon("--files", "src/**", notes=notes, start=False)
        for note in notes:
            os.utime(self.running.vault / note, ns=(0, LONG_AGO_NS))
        self.running.start()
        self.call("workspaced/reconcile")
        self.call("workspaced/context/start", {"conversation": "talk", **SETTINGS})
        self.publish("note_pinned", note="src/main.py")
        self.publish("active_note_set", note="home.md")
        if has_secret:
            self.publish("active_note_set", note=SECRET)
            self.publish("note_pinned", note=SECRET)
            self.publish("temporary_tab_opened", note=SECRET, source="search")
            self.publish("selection_changed", note=SECRET, startLine=1, endLine=2, text=f"word = {WORD}")
        else:
            self.publish("active_note_cleared")

    def call(self, method: str, params: Json | None = None) -> Any:
        with self.running.wire() as wire:
            wire.ask("workspaced/hello", {"client": {"name": "runtime"}})
            return wire.ask(method, params)

    def publish(self, kind: str, **data: Any) -> None:
        with self.running.connect("editor") as client:
            client.publish([{"type": kind, "data": data}])

    def answers(self) -> Iterator[tuple[str, str]]:
        with self.running.connect("agent") as agent:
            for name, arguments in self._calls():
                yield f"{name} {arguments}", plain(agent.tool(name, arguments))
        guessed = GUESSES if self.by != "on-request" else ()
        attached = [{"kind": "note", "id": each} for each in ("home.md", *guessed)]
        attached += [{"kind": "file", "id": SECRET, "text": "f"}, {"kind": "folder", "id": "src/keys"}]
        message = {"id": "m", "role": "user", "text": "What?", "attachments": attached}
        talk = {"conversation": "talk"}
        for method, params in (
            ("workspaced/context/message", {**talk, "messages": [message]}),
            ("workspaced/context/assemble", talk),
            ("workspaced/context/export", talk),
        ):
            yield method, plain(self.call(method, params))

    def _calls(self) -> Iterator[tuple[str, Json]]:
        yield "get_workspace_context", {"includeContent": True}
        yield "get_workspace_summary", {}
        yield "get_navigation_history", {}
        yield "get_related_notes", {"reference": "src/main.py"}
        yield "get_note_by_reference", {"reference": "home.md", "includeLinks": True, "includeOutline": True}
        if self.by == "on-request":
            return
        yield "get_current_note", {"includeOutline": True}
        for guess in GUESSES:
            yield "get_note_by_reference", {"reference": guess, "includeOutline": True}
            yield "get_note_diff", {"reference": guess}
        for query in ("zebra", WORD, "vault_secret", "path:src/keys"):
            yield "search_workspace", {"query": query}


def plain(answer: Any) -> str:
    return json.dumps(_plain(answer), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name not in _DIFFERS}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        for pattern in (_TIMES, _CLOCK, _COUNTED, _FOLDER):
            value = pattern.sub("", value)
    return value


@pytest.mark.fault(row=72)
@pytest.mark.parametrize("by", RULES)
def test_nothing_tells_a_vault_with_a_withheld_code_file_from_one_without(
    daemon: Callable[..., Any], by: str
) -> None:
    one, other = (World(daemon, by, has_secret=each) for each in (True, False))
    asked = 0
    for (question, answer), (same, expected) in zip(one.answers(), other.answers(), strict=True):
        assert question == same
        assert answer == expected, question
        assert WORD not in answer, question
        asked += 1
    assert asked >= 8


def test_a_code_file_for_requests_is_shown_to_an_agent_that_asks(daemon: Callable[..., Any]) -> None:
    world = World(daemon, "on-request", has_secret=True)
    with world.running.connect("agent") as agent:
        assert agent.tool("get_note_by_reference", {"reference": SECRET})["data"]["content"] == TEXT
        found = agent.tool("search_workspace", {"query": WORD})["data"]["results"]
        assert [hit["id"] for hit in found] == [SECRET]


def test_a_client_that_sees_names_only_gets_no_text_of_code(daemon: Callable[..., Any]) -> None:
    running = daemon("--files", "src/**", notes=PUBLIC)
    assert running.cli("share", "agent", "names").returncode == 0
    with running.connect("agent") as agent:
        asked = {"reference": "src/main.py", "includeOutline": True}
        found = agent.tool("get_note_by_reference", asked)["data"]
        assert found["title"] == "main.py" and "content" not in found and "outline" not in found
        assert agent.tool("search_workspace", {"query": "print"})["data"]["results"] == []


def test_a_redacted_log_of_code_verifies_and_holds_none_of_its_words(daemon: Callable[..., Any]) -> None:
    running = daemon("--files", "src/**", notes=PUBLIC)
    with running.connect("agent") as agent:
        agent.tool("get_note_by_reference", {"reference": "src/main.py", "includeOutline": True})
        agent.tool("search_workspace", {"query": "zebra"})
    bundle = running.root / "redacted.wsb"
    made = running.cli("bundle", "-o", str(bundle), "--redact")
    assert made.returncode == 0, made.stderr
    verified = running.cli("replay", str(bundle), "--verify")
    assert verified.returncode == 0, verified.stdout
    calls: list[ToolCalled] = []
    with open_source(bundle) as source:
        source.feed(lambda events: calls.extend(each.data for each in events if type(each.data) is ToolCalled))
        names = [name for call in calls for name in (call.inputs_sha256, call.result_sha256) if name is not None]
        kept = b"".join(source.blob(name) or b"" for name in names)
    assert len(calls) == 2
    assert not any(word in kept for word in (b"vault_secret", b"zebra", b"src/", b'"main"'))


def test_a_forgotten_code_file_is_nowhere_in_the_log(daemon: Callable[..., Any]) -> None:
    running = daemon("--files", "src/**", notes={**PUBLIC, SECRET: TEXT})
    with running.connect("editor") as client:
        client.publish([{"type": "note_pinned", "data": {"note": SECRET}}])
        client.tool("get_note_by_reference", {"reference": SECRET, "includeOutline": True})
    (running.vault / SECRET).unlink()
    running.stop()
    done = running.cli("forget", SECRET, "--data-dir", str(running.data), "--yes")
    assert done.returncode == 0, done.stderr
    kept = b"".join(file.read_bytes() for file in (running.data / "log").iterdir() if file.is_file())
    assert b"vault_secret" not in kept and b"VaultSecret" not in kept
