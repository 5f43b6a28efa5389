"""What people's notes hold, and what they expect of them: one file a case, in `notes/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right` (what the user expects),
`[notes]` (path = text, or what `support.world.put` takes; the vault), optionally `[state]` (active, pins, tabs,
recents, ...), and any number of `[[ask]]`: `tool` and `arguments`, then what the answer must be: `answer` (a part
of the result: of an object the named fields, of a list all its items), `holds` and `lacks` (texts in its JSON).

Optional: `shown` (notes that an editor has shown, as the log knows), `[[then]]` (what happens to the files next,
see `support.world.happens`), `young` (the files are as young as they are, instead of long settled), `renamed` (the
pairs told as renames), `idle` (the ignore rules that match nothing), `owner` (texts in what its owner is told).
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.world import happens, lacking, put, read

from workspaced_events.ids import NoteId
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.vault.vault import Vault

CASES = sorted((Path(__file__).parent / "notes").rglob("*.toml"))
REAL = {"clock_ns": time.time_ns, "clock_s": time.monotonic}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_note_of_the_world_is_read_as_its_author_means_it(
    case: Path,
    make_vault: Callable[..., Vault],
    make_state: Callable[..., Any],
    make_view: Callable[..., Any],
    call: Callable[..., dict[str, Any]],
    settle: Callable[[Vault], Any],
) -> None:
    told = read(case)
    texts = {path: text for path, text in told["notes"].items() if isinstance(text, str)}
    vault = make_vault(texts, indexed=False, **(REAL if told.get("young") else {}))
    for path, what in told["notes"].items():
        if path not in texts:
            put(vault.root.path, path, what)
    vault.reconcile()
    for note in told.get("shown", []):
        assert not vault.look_at(NoteId(note)), "it may be shown"
    changes = [happens(vault, step, settle) for step in told.get("then", [])]
    assert [list(pair) for each in changes for pair in each.renamed] == told.get("renamed", [])
    assert [each.rule for each in vault.idle_rules()] == told.get("idle", [])
    assert all(any(text in each for each in vault.statistics().warnings) for text in told.get("owner", []))
    state = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told.get("state", {}).items()
    }
    view = make_view(vault, make_state(**state))
    for ask in told.get("ask", []):
        assert ask["tool"] in TOOLS
        found = call(ask["tool"], view, **ask.get("arguments", {}))
        assert lacking(found, ask) == [], json.dumps(found, ensure_ascii=False, indent=1)
