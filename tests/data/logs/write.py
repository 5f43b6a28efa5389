"""Writes a golden log: a small data directory, its export and its state, as the code it runs on makes them.

    PYTHONPATH=events python tests/data/logs/write.py tests/data/logs

makes `v<version of the catalogue>/`, `v<version>.jsonl` and `v<version>.state.json`. Until the first release the
one version is written anew when it changes; from then on a version's files are what users have, and stay.
"""

import itertools
import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import msgspec

from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal, read_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.schema.catalogue import CATALOGUE, CATALOGUE_VERSION

HASH = "0123456789abcdef" * 4
LONG = "A long selection lies in a blob. " * 200
C = {"conversation": "chat-1"}
SAID = {
    "system": "You help with notes.",
    "tools": "[]",
    "ask": "What is in the plan?",
    "again": "What is in the plan, in short?",
    "arguments": '{"reference": "plan"}',
    "found": "# The plan",
    "thought": "Let me look.",
    "answer": "Two things: März und 日記.",
    "summary": "They spoke of the plan.",
    "pinned": "Answer in German.",
    "block": "<note_context>\n<path>plan.md</path>\n</note_context>",
    "inputs": "{}",
    "manifest": "{}",
    "turn": '{"version": 1, "parts": [{"kind": "query", "id": "m1", "text": "What is in the plan?"}]}',
    "image": "\x89PNG",
    "template": '{"model": {{ model | json }}}',
    "memory": "They like short answers.\n",
    "remembered": "They like short answers in German.\n",
}
TEXTS = {name: sha256(text.encode()).hexdigest() for name, text in SAID.items()}
LAYERS = dict.fromkeys(("L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER"), HASH)
ENTRY = {
    "id": "plan.md",
    "kind": "note",
    "revision": TEXTS["found"],
    "blockSha256": TEXTS["block"],
    "tokens": 9,
    "message": "m1",
}
PROMPT = {
    **C,
    "inputsSha256": TEXTS["inputs"],
    "manifestSha256": TEXTS["manifest"],
    "layerHashes": LAYERS,
    "combinedHash": HASH,
    "prefixTokens": 700,
    "estimate": 1200,
    "seedEstimate": 1000,
    "limit": 100_000,
}
TALK = [
    (
        "conversation_started",
        {
            **C,
            "provider": "p",
            "model": "m/1",
            "contextWindow": 128_000,
            "outputReserve": 4_096,
            "sections": [{"name": "system", "textSha256": TEXTS["system"]}],
            "toolsSha256": TEXTS["tools"],
            "promotion": "at_fold",
        },
    ),
    (
        "message_added",
        {
            **C,
            "message": "m1",
            "role": "user",
            "textSha256": TEXTS["ask"],
            "attachments": [
                {"kind": "note", "id": "plan.md", "title": "The plan"},
                {"kind": "selected_text", "id": "plan.md#L2-L3", "textSha256": TEXTS["found"]},
                {"kind": "folder", "id": "Tagebuch"},
                {"kind": "active_note", "id": "plan.md", "resolved": True},
                {"kind": "selected_text", "id": "plan.md#L1-L2", "textSha256": TEXTS["found"], "resolved": True},
                {"kind": "tool_result", "id": "s1", "textSha256": TEXTS["found"]},
            ],
        },
    ),
    ("artifact_recorded", {"id": "plan.md", "kind": "note", "revision": TEXTS["found"], "bytes": 10}),
    ("prompt_assembled", {**PROMPT, "message": "m1", "asOfSeq": 47}),
    (
        "usage_reported",
        {**C, "message": "m1", "provider": "p", "model": "m/1", "inputTokens": 900, "cachedTokens": 300},
    ),
    (
        "message_added",
        {
            **C,
            "message": "m2",
            "role": "assistant",
            "textSha256": TEXTS["answer"],
            "toolCalls": [{"id": "call-1", "name": "get_note", "argumentsSha256": TEXTS["arguments"]}],
            "thinking": [{"textSha256": TEXTS["thought"], "signature": "sig=="}],
        },
    ),
    (
        "message_added",
        {
            **C,
            "message": "m3",
            "role": "user",
            "toolResults": [
                {"id": "call-1", "name": "get_note", "textSha256": TEXTS["found"]},
                {"id": "call-2", "name": "get_note", "textSha256": TEXTS["found"], "isError": True},
                {"id": "call-3", "name": "search", "textSha256": TEXTS["found"]},
                {
                    "id": "call-4",
                    "name": "look",
                    "textSha256": TEXTS["found"],
                    "images": [{"sha256": TEXTS["image"], "mediaType": "image/png"}],
                },
            ],
        },
    ),
    ("context_pinned", {**C, "id": "tone", "kind": "text", "textSha256": TEXTS["pinned"]}),
    ("context_pinned", {**C, "id": "plan", "kind": "note", "path": "plan.md"}),
    ("context_pinned", {**C, "id": "diary", "kind": "folder", "folder": "Tagebuch"}),
    ("context_unpinned", {**C, "id": "tone"}),
    ("message_replaced", {**C, "message": "m1", "role": "user", "textSha256": TEXTS["again"]}),
    ("message_added", {**C, "message": "m4", "role": "assistant", "textSha256": TEXTS["answer"]}),
    ("message_added", {**C, "message": "m5", "role": "user", "textSha256": TEXTS["ask"]}),
    ("message_removed", {**C, "message": "m5", "following": True}),
    ("summary_set", {**C, "textSha256": TEXTS["summary"], "upTo": "m3"}),
    ("prompt_assembled", {**PROMPT, "message": "m4", "asOfSeq": 61, "turnSha256": TEXTS["turn"]}),
    (
        "context_folded",
        {
            **C,
            "reason": "budget",
            "library": [ENTRY],
            "leftOut": [{"message": "m1", "kind": "note", "id": "plan.md"}],
            "resultsUpTo": "m3",
            "saved": 40,
        },
    ),
    (
        "prompt_assembled",
        {
            **PROMPT,
            "message": "m4",
            "asOfSeq": 61,
            "elided": 2,
            "shape": {"name": "own", "templateSha256": TEXTS["template"], "bodyHash": HASH},
        },
    ),
    ("prompt_assembled", {**PROMPT, "message": "m4", "asOfSeq": 61, "pipeline": "compression"}),
    ("context_near_limit", {**C, "message": "m4", "estimate": 80, "limit": 99, "upTo": "m3"}),
    ("prompt_assembled", {**PROMPT, "message": "m4", "asOfSeq": 61, "totals": {"L1_SYSTEM": 7, "failed": 1}}),
    ("conversation_ended", C),
]
WRITES = [
    (
        "memory_written",
        {"note": "Memory/style.md", "command": "create", "client": "agent", "textSha256": TEXTS["memory"]},
    ),
    ("memory_write_ended", {"write": "{last}", "outcome": "done"}),
    (
        "memory_written",
        {
            "note": "Memory/style.md",
            "command": "str_replace",
            "client": "agent",
            "formerSha256": TEXTS["memory"],
            "textSha256": TEXTS["remembered"],
        },
    ),
    ("memory_write_ended", {"write": "{last}", "outcome": "failed"}),
    (
        "memory_written",
        {
            "note": "Memory/old/style.md",
            "command": "rename",
            "client": "agent",
            "formerSha256": TEXTS["memory"],
            "textSha256": TEXTS["memory"],
            "from": "Memory/style.md",
        },
    ),
    ("memory_write_ended", {"write": "{last}", "outcome": "done"}),
    (
        "memory_written",
        {
            "note": "Memory/old/style.md",
            "command": "undo",
            "client": "user",
            "formerSha256": TEXTS["memory"],
            "undoes": 1,
        },
    ),
]
"""The last write has no end: it was interrupted."""
CALL = {"caller": "agent", "asOfSeq": 9, "resultSha256": HASH, "bytes": 1024, "durationUs": 300}
LINK = [
    (
        "link_changed",
        {
            "origin": "a" * 32,
            "members": [
                {"origin": "a" * 32, "person": "Ann", "machine": "laptop"},
                {"origin": "b" * 32, "person": "Ann", "machine": "server"},
            ],
            "vaults": [{"vault": "notes", "linked": "c" * 32, "replicate": "pins"}],
        },
    ),
    (
        "remote_events_applied",
        {
            "origin": "b" * 32,
            "position": {"generation": 1, "n": 1, "digest": "d" * 64},
            "ms": 1_772_366_400_000,
            "whole": True,
            "view": [
                {
                    "vault": "c" * 32,
                    "active": {"note": "plan.md", "sinceUs": 1_772_366_400_000_000},
                    "pins": [
                        {"note": "plan.md", "pinnedUs": 1_772_366_400_000_000, "ms": 1_772_366_400_000, "n": 1}
                    ],
                }
            ],
        },
    ),
    (
        "remote_events_applied",
        {
            "origin": "b" * 32,
            "position": {"generation": 1, "n": 2, "digest": "e" * 64},
            "ms": 1_772_366_400_001,
            "changed": [
                {
                    "vault": "c" * 32,
                    "presence": {},
                    "unpinned": ["plan.md"],
                    "pinned": [
                        {
                            "at": 0,
                            "note": "日記/三月.md",
                            "pinnedUs": 1_772_366_400_000_001,
                            "ms": 1_772_366_400_001,
                        }
                    ],
                    "renames": [{"former": "old.md", "note": "new.md"}],
                }
            ],
        },
    ),
]
"""A link of two machines."""
ROWS = [
    ("daemon_started", {"version": "1.0", "pid": 42, "vaults": ["notes", "work"]}),
    ("vault_opened", {"vaultId": "notes", "name": "Notes", "path": "/home/me/notes"}),
    ("vault_opened", {"vaultId": "work", "name": "Work", "path": "/home/me/work", "files": ["src/**"]}),
    ("active_note_set", {"note": "plan.md", "title": "The plan"}),
    ("note_pinned", {"note": "plan.md"}),
    ("note_pinned", {"note": "Tagebuch/März.md", "title": "März"}),
    ("note_pinned", {"note": "日記/三月.md", "index": 0}),
    ("pinned_notes_reordered", {"notes": ["plan.md", "日記/三月.md", "Tagebuch/März.md"]}),
    ("note_unpinned", {"note": "Tagebuch/März.md"}),
    ("temporary_tab_opened", {"note": "cleared.md", "source": "search"}),
    ("temporary_tabs_cleared", {}),
    *(("temporary_tab_opened", {"note": f"tab {number}.md", "source": "search"}) for number in range(11)),
    ("temporary_tab_opened", {"note": "tab 5.md", "source": "wikilink", "title": "Five"}),
    ("temporary_tab_closed", {"note": "tab 4.md"}),
    ("temporary_tab_closed", {"tabId": "tab-18"}),
    ("temporary_tabs_expired", {"tabIds": ["tab-19"]}),
    ("selection_changed", {"note": "plan.md", "startLine": 2, "endLine": 3, "text": "two\nlines"}),
    ("note_created", {"note": "plan.md", "size": 0, "mtimeNs": "1767225600000000001", "sha256": HASH}),
    ("note_changed", {"note": "plan.md", "size": 12, "mtimeNs": "-1"}),
    ("note_shown", {"note": "plan.md"}),
    ("note_shown", {"note": "Tagebuch/März.md"}),
    ("note_withheld", {"note": "Tagebuch/März.md"}),
    ("note_renamed", {"from": "plan.md", "to": "old/plan.md"}),
    ("note_archived", {"note": "日記/三月.md"}),
    ("note_archived", {"note": "old/plan.md"}),
    ("note_unarchived", {"note": "日記/三月.md"}),
    ("tool_called", {**CALL, "tool": "get_current_note", "arguments": {}, "ok": True}),
    ("tool_called", {**CALL, "tool": "get_note_by_reference", "ok": False, "inputsSha256": HASH, "tailSeq": 12}),
    ("tool_called", {**CALL, "tool": "get_current_note", "ok": True, "answerVersion": 2}),
    (
        "context_volunteered",
        {
            **CALL,
            "tool": "volunteer_context",
            "ok": True,
            "session": "s-1",
            "event": "UserPromptSubmit",
            "fromSeq": 7,
            "textSha256": HASH,
        },
    ),
    (
        "context_inserted",
        {
            **CALL,
            "tool": "volunteer_context",
            "ok": True,
            "session": "5e55",
            "event": "anthropic",
            "textSha256": HASH,
            "near": "4ea4",
            "insertion": "aaaa-1",
        },
    ),
    (
        "context_inserted",
        {
            **CALL,
            "tool": "volunteer_context",
            "ok": True,
            "session": "5e55",
            "event": "anthropic",
            "fromSeq": 7,
            "textSha256": HASH,
            "near": "4ea5",
            "insertion": "bbbb-2",
            "after": "aaaa-1",
        },
    ),
    ("prompt_overlaid", {"caller": "proxy", "insertion": "bbbb-2", "bodyHash": HASH}),
    (
        "prompt_answered",
        {
            "caller": "proxy",
            "insertion": "bbbb-2",
            "bodyHash": HASH,
            "inputTokens": 120,
            "cachedTokens": 100,
            "outputTokens": 7,
        },
    ),
    ("context_withdrawn", {"insertions": ["aaaa-1"]}),
    ("prompt_overlaid", {"caller": "proxy", "insertion": "bbbb-2", "without": ["aaaa-1"], "bodyHash": HASH}),
    ("clock_stepped", {"before": "2026-03-01T12:00:00.000000Z", "after": "2026-03-01T11:00:00.000000Z"}),
    ("sharing_set", {"client": "Agent", "level": "names"}),
    ("volunteering_set", {"client": "Agent", "volunteering": "selection-off"}),
    ("view_opened", {}),
    ("pause_started", {}),
    ("pause_started", {"until": "2026-03-01T13:00:00.000000Z"}),
    ("pause_ended", {}),
    ("view_closed", {}),
    ("view_opened", {"confidence": "inferred"}),
    ("vault_switched", {"vaultId": "work"}),
    ("active_note_set", {"note": "todo.md"}),
    ("temporary_tab_opened", {"note": "one.md", "source": "history"}),
    ("temporary_tab_opened", {"note": "two.md", "source": "navigation"}),
    ("temporary_tabs_reordered", {"tabIds": ["{last}", "{last but one}"]}),
    ("note_deleted", {"note": "one.md"}),
    ("active_note_cleared", {}),
    ("vault_closed", {"vaultId": "work"}),
    ("vault_switched", {"vaultId": "notes"}),
    ("active_note_set", {"note": "old/plan.md"}),
    ("event_forgotten", {"effect": "left"}),
    ("event_forgotten", {}),
    ("record_forgotten", {}),
    ("active_note_set", {"note": "old/plan.md"}),
    ("temporary_tab_opened", {"note": "last.md", "source": "search"}),
    ("selection_changed", {"note": "old/plan.md", "startLine": 1, "endLine": 200, "text": LONG}),
    ("log_recovered", {"segment": "1.wlog", "offset": 9, "bytes": 3, "lastSeq": 7, "quarantined": "quarantine/1"}),
    *TALK,
    *WRITES,
    *LINK,
    ("answer_judged", {"of": 76, "verdict": "wrong", "wanted": "In May.", "why": "The note says so."}),
    ("daemon_stopped", {"reason": "SIGTERM"}),
]


def main(directory: Path) -> None:
    name = f"v{CATALOGUE_VERSION}"
    data = directory / name
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    ticks = itertools.count()
    journal = open_journal(
        RealDisk(data),
        version="golden",
        clock=lambda: f"2026-03-01T12:00:00.{next(ticks):06}Z",
        segment_bytes_max=6_000,
    )
    assert {kind for kind, _data in ROWS} >= set(CATALOGUE)
    for kind, wire in ROWS:
        if kind in CATALOGUE:
            _append(journal, kind, dict(wire))
    journal.writer.close()
    events = []
    scan = read_journal(data, events.extend)
    assert scan.damage is None and scan.segments > 1
    (directory / f"{name}.jsonl").write_bytes(b"".join(export_lines(scan.log_id, events, visibility=True)))
    state = journal.writer.state
    golden = {
        "state": msgspec.to_builtins(state),
        "vaults": {vault: msgspec.to_builtins(to_json(state, vault)) for vault in state.by_vault},
    }
    text = json.dumps(golden, ensure_ascii=False, indent=1)
    (directory / f"{name}.state.json").write_text(text + "\n")


def _append(journal, kind, wire) -> None:
    entry = CATALOGUE[kind]
    if kind in ("tool_called", "context_volunteered", "context_inserted"):
        wire.setdefault("arguments", {"reference": "[[Plan]]", "deep": [1, None, True]})
        wire["now"] = "2026-03-01T11:59:59.999999Z"
        wire = {key: value for key, value in wire.items() if key in entry.fields}
    seq = journal.log.tail.seq
    if wire.get("tabIds", [""])[0].startswith("{"):
        wire["tabIds"] = [f"tab-{seq}", f"tab-{seq - 1}"]
    if wire.get("write") == "{last}":
        wire["write"] = seq
    blobs = [SAID[name].encode() for name, sha in TEXTS.items() if f'"{sha}"' in json.dumps(wire)]
    if len(wire.get("text", "")) > 4_096:
        blobs = [wire.pop("text").encode()]
        wire["textSha256"] = sha256(blobs[0]).hexdigest()
    action = Action(msgspec.convert(wire, entry.data), blobs=tuple(blobs))
    if (
        kind == "vault_closed"
    ):  # what the daemon appends itself is admitted as it is; the vault is still the current
        action = msgspec.structs.replace(action, vault="work")
    outcome = []
    journal.writer.submit([action], "editor" if entry.by_ui else "workspaced", outcome.append)
    for done, came in journal.writer.commit().outcomes:
        done(came)
    assert isinstance(outcome[0], list), outcome[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
