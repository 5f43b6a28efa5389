"""`workspaced log export --redact`: no name and no text of a real session in it, and it loads like any export."""

import json
from typing import Any

import pytest

CANARY = "Xylophanes"
SELECTED = f"{CANARY} said: the Püree is ready.\n" * 200
"""Long enough to be kept as a blob."""


@pytest.fixture(scope="module")
def told(module_daemon: Any) -> Any:
    """A daemon over a vault with a telling name, which was published to and asked."""
    note = f"{CANARY}/{CANARY} plan.md"
    running = module_daemon(notes={note: f"# {CANARY}\n\nNobody may read of {CANARY}.\n"}, start=False)
    running.vault = running.vault.rename(running.root / f"somebody's {CANARY} Notes")
    running.start()
    with running.connect() as client:
        client.call("workspaced/reconcile")  # a selection's text is kept of a note that is known
        client.publish(
            [
                {"type": "active_note_set", "data": {"note": note, "title": CANARY}, "id": f"{CANARY}-1"},
                {
                    "type": "selection_changed",
                    "data": {"note": note, "startLine": 1, "endLine": 3, "text": CANARY},
                },
                {"type": "note_pinned", "data": {"note": "other.md"}},
                {"type": "temporary_tab_opened", "data": {"note": f"{CANARY}.md", "source": "search"}},
                {"type": "note_renamed", "data": {"from": "other.md", "to": f"x/{CANARY.upper()}.md"}},
                {
                    "type": "selection_changed",
                    "data": {"note": note, "startLine": 1, "endLine": 9, "text": SELECTED},
                },
            ],
            source=f"{CANARY}-editor",
        )
        client.tool("get_note_by_reference", {"reference": CANARY})
        client.tool("get_note_by_reference", {"reference": CANARY, CANARY: [CANARY, 5550000]})
    return running.restart()  # calls are recorded behind their answers: now they all are


def exports(running: Any, *flags: str) -> list[bytes]:
    """Of the running daemon, and of its files."""
    return [
        running.cli("log", "export", *flags, *where).stdout.encode()
        for where in ((), ("--data-dir", str(running.data)))
    ]


@pytest.mark.fault(row=44)
def test_holds_nothing_of_the_session_in_any_case(told: Any) -> None:
    for plain in exports(told):
        assert plain.count(CANARY.encode()) > 10 and str(told.vault).encode() in plain
        assert b"tool_called" in plain and b"textSha256" in plain and b"5550000" in plain
    redacted = exports(told, "--redact")
    assert redacted[0].splitlines()[2:] != redacted[1].splitlines()[2:], "under a key of its own each time"
    for export in redacted:
        assert CANARY.lower().encode() not in export.lower()
        for word in (b"P\xc3\xbcree", b"other.md", b"somebody", str(told.vault).encode(), b"5550000"):
            assert word not in export


def test_keeps_every_event_its_type_its_time_and_what_was_asked(told: Any) -> None:
    plain, redacted = (
        [json.loads(line) for line in exports(told, *flags)[1].splitlines()] for flags in ((), ("--redact",))
    )
    assert redacted[0] == {**plain[0], "log": "", "redacted": True}
    for old, new in zip(plain[1:], redacted[1:], strict=True):
        assert [old[key] for key in ("seq", "time", "type")] == [new[key] for key in ("seq", "time", "type")]
    called = [each["data"] for each in redacted[1:] if each["type"] == "tool_called"]
    assert [each["tool"] for each in called] == ["get_note_by_reference"] * 2
    assert all(len(each["arguments"]["reference"]) == len(CANARY) for each in called)
    assert called[0]["arguments"]["reference"] == called[1]["arguments"]["reference"]
