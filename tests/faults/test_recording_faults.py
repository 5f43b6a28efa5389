"""Hostile notes and clients: what is withheld is in no blob, no call makes a recording wrong or a log long."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import session_machine as sessions

from workspaced.limits import ARGUMENTS_INLINE_BYTES_MAX, REQUEST_BYTES_MAX
from workspaced_events.blobs.durable import unpacked
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema.catalogue import Event, ToolCalled
from workspaced_events.schema.codec import encode_event
from workspaced_tools.replay.verify import Outcome
from workspaced_tools.sharing.verdicts import Verdicts
from workspaced_tools.vault.files.note_levels import NoteLevels

CANARY = b"kanarienvogel"
"""In the withheld note's path, title, alias, tag, front matter and text, and nowhere else."""
SECRET = f"keep/{CANARY.decode()}.md"
SECRET_TEXT = (
    b"---\ntitle: The Kanarienvogel\naliases: [Codename]\ntags: [kanarienvogel, two]\nkey: kanarienvogel\n%b---\n"
    b"# The Kanarienvogel\n\nA kanarienvogel, zebra, see [[a]] and [[b]]. #kanarienvogel\n"
)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_note_by_reference", {"reference": "Codename"}),
    ("get_note_by_reference", {"reference": "codenam"}),
    ("get_note_by_reference", {"reference": "b", "includeMetadata": True}),
    ("get_note_diff", {"reference": "a"}),
    ("get_note_diff", {"reference": "Codename"}),
    ("search_workspace", {"query": "zebra"}),
    ("search_workspace", {"query": "zebra", "scope": "workspace", "folder": "keep", "tags": ["two"]}),
    ("get_related_notes", {"reference": "a"}),
    ("get_related_notes", {}),
    ("get_workspace_summary", {}),
    ("get_navigation_history", {}),
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    made = sessions.Session(tmp_path, ("one",))
    yield made
    made.dispose()


def listed_everywhere(session: Any, note: str) -> None:
    """Visited, tabbed, pinned, recent, archived, formerly called something, selected, active."""
    actions = [
        ("active_note_set", {"note": note}),
        ("active_note_set", {"note": "a.md"}),
        ("note_pinned", {"note": "a.md"}),
        ("note_pinned", {"note": note}),
        ("temporary_tab_opened", {"note": "b.md", "source": "search"}),
        ("note_renamed", {"from": "was.md", "to": note}),
        ("note_archived", {"note": note}),
        ("active_note_set", {"note": note}),
        ("selection_changed", {"note": note, "startLine": 1, "endLine": 2, "text": f"some {CANARY.decode()}"}),
    ]
    assert session.publish(*({"type": kind, "data": data} for kind, data in actions)) is None


def begin(session: Any, private: bytes, ignore: bytes = b"") -> None:
    vault = session.vaults["one"]
    sessions.write(vault, "a.md", sessions.TEXTS[1])
    sessions.write(vault, "b.md", b"---\ntags: [two]\n---\n# Beta\n\nzebra [[Codename]] [[a]]\n")
    sessions.write(vault, SECRET, SECRET_TEXT % private)
    (vault / ".workspacedignore").write_bytes(ignore)
    session.open()
    session.reconcile()
    listed_everywhere(session, SECRET)


def kept_of(session: Any) -> bytes:
    """All that recording kept, case-folded: every blob and every event of a call."""
    parts = [unpacked(path.read_bytes()) for path in (session.data / "served").rglob("*") if path.is_file()]
    events: list[Event] = []
    with DirectorySource(session.data) as source:
        source.feed(events.extend)
    parts += [encode_event(event) for event in events if isinstance(event.data, ToolCalled)]
    return b"\n".join(parts).lower()


@pytest.mark.parametrize("level", ["all", "names"])
@pytest.mark.parametrize(
    ("private", "ignore"), [(b"workspaced: private\n", b""), (b"", b"keep/\n"), (b"x: [private\n", b"")]
)
def test_nothing_of_a_withheld_note_is_kept(session: Any, private: bytes, ignore: bytes, level: str) -> None:
    begin(session, private, ignore)
    session.share("agent", level)
    for tool, arguments in CALLS:
        session.call(tool, arguments)
    found = session.check()
    kept = kept_of(session)
    assert CANARY not in kept and (b"zebra [[" in kept) is (level == "all"), "who gets names leaves no text"
    assert {each.outcome for each in found} == {Outcome.SAME}
    recordings = [DirectorySource(session.data).blob(each.called.inputs_sha256) or b"" for each in found]
    assert any(b'"leftOut"' in each for each in recordings)


def test_a_note_that_is_shown_is_kept_so_the_canary_sings(session: Any) -> None:
    begin(session, b"")
    session.call("get_workspace_context", {"includeContent": True})
    session.check()
    assert CANARY in kept_of(session)


def test_a_note_that_turns_private_between_calls_leaves_nothing_from_then_on(session: Any) -> None:
    begin(session, b"workspaced: private\n")
    vault = session.vaults["one"]
    moment = session.service.tail.seq
    for text in (b"", b"workspaced: private\n"):
        sessions.write(vault, SECRET, SECRET_TEXT % text)
        if text == b"":
            session.reconcile()  # what was withheld is shown again only once that is known
        for tool, arguments in CALLS:
            session.call(tool, arguments)
        session.service.call_recorder.flush()
        for tool, arguments in CALLS:
            session.call(tool, {**arguments, "at": moment})
        session.service.call_recorder.flush()
        if text == b"":
            shown = {path for path in (session.data / "served").rglob("*") if path.is_file()}
    session.check()
    assert CANARY in kept_of(session)
    later = [path for path in (session.data / "served").rglob("*") if path.is_file() and path not in shown]
    assert later and not any(CANARY in unpacked(path.read_bytes()).lower() for path in later)


def test_a_call_while_notes_keep_turning_private_is_refused(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(session, b"")
    count = iter(range(10**6))
    monkeypatch.setattr(NoteLevels, "state_version", property(lambda _levels: next(count)))
    monkeypatch.setattr(Verdicts, "hold", lambda _verdicts: False)
    for tool, arguments in CALLS:
        assert json.loads(session.call(tool, arguments).payload)["code"] in ("READ_ERROR", "INVALID_ARGUMENT")
    session.check()
    assert CANARY not in kept_of(session)


def test_a_tool_that_fails_unexpectedly(session: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    begin(session, b"")
    vault = session.service.current_vault.vault

    def broken(*_args: Any) -> Any:
        raise MemoryError("kanarienvogel")

    for name in ("overview", "similar", "search"):
        monkeypatch.setattr(vault.searches, name, broken)
    for tool in ("get_workspace_summary", "get_related_notes"):
        assert json.loads(session.call(tool).payload)["code"] == "INTERNAL"
    session.check()


# -- hostile arguments, over the wire --

HOSTILE: list[str] = [
    '{"limit": -0.0}',
    '{"limit": 1e2}',
    '{"limit": 18446744073709551616}',
    '{"limit": ' + "9" * 4_000 + "}",
    '{"limit": 1, "limit": 2}',
    '{"zz": 1, "aa": {"z": [1.50, 1E5, 0.1e1, -0], "a": null}}',
    '{"limit": [' + "[" * 40 + "]" * 40 + "]}",
    '{"sinceTime": "\\u0000\\u001b[31m\\ud83d\\ude00"}',
    '{"\\u0000": "\\u2028", "limit": true}',
    '{"sinceTime": "0001-01-01T00:00:00+23:59"}',
    '{"minSeq": -1}',
    '{"minSeq": true}',
    '{"minSeq": "1"}',
    '{"limit": "' + "x" * (REQUEST_BYTES_MAX - 1_000) + '"}',
    '{"' + "k" * 100_000 + '": ["' + "\\u0001" * 50_000 + '"]}',
    '{"query": {"' + '": 1, "'.join(str(at) for at in range(60_000)) + '": 1}}',
]
REFUSED: list[str] = ['{"limit": 1e400}', '{"limit": NaN}', '{"x": ' + "9" * 5_000 + "}"]


def ask(wire: Any, arguments: str, tool: str = "get_navigation_history") -> dict[str, Any]:
    call = f'{{"name":"{tool}","arguments":{arguments}}}'
    wire.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}\n' % call.encode())
    message: dict[str, Any] = wire.line()
    return message


def test_whatever_arguments_were_sent_the_call_is_recorded_and_made_again(daemon: Any) -> None:
    running = daemon()
    wire = running.wire()
    name = "ctl\x1b[31m\n\u202e" + "é" * 50
    wire.ask("workspaced/hello", {"client": {"name": name}})
    for arguments in HOSTILE:
        assert "result" in ask(wire, arguments), arguments[:100]
    for arguments in REFUSED:
        assert "error" in ask(wire, arguments), arguments[:100]
    before = running.memory_bytes()
    for _ in range(30):
        ask(wire, HOSTILE[-3])
    assert running.memory_bytes() - before < 64 * 1024 * 1024
    running.stop()
    found = sessions.verified(running.data)
    assert len(found) == len(HOSTILE) + 30
    for each in found:
        assert each.outcome is Outcome.SAME, sessions.explained(each)[:2_000]
        assert each.called.caller == name
        assert len(msgspec.json.encode(each.called)) < ARGUMENTS_INLINE_BYTES_MAX + 1_000
