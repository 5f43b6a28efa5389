"""What people's notes hold, and what they expect of them: one file a case, in `notes/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right` (what the user expects),
`[notes]` (path = text; the vault), optionally `[state]` (active, pins, tabs, recents, ...), and any number of
`[[ask]]`: `tool` and `arguments`, then what the answer must be: `answer` (a part of the result: of an object the
named fields, of a list all its items), `holds` and `lacks` (texts in the answer's JSON).
"""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.world import lacking

from workspaced_tools.tools.registry import TOOLS

CASES = sorted((Path(__file__).parent / "notes").rglob("*.toml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_note_of_the_world_is_read_as_its_author_means_it(
    case: Path,
    make_vault: Callable[..., Any],
    make_state: Callable[..., Any],
    make_view: Callable[..., Any],
    call: Callable[..., dict[str, Any]],
) -> None:
    told = tomllib.loads(case.read_text())
    assert told["follows"] and told["right"], "a case says whom it follows and what is right"
    state = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told.get("state", {}).items()
    }
    view = make_view(make_vault(told["notes"]), make_state(**state))
    for ask in told["ask"]:
        assert ask["tool"] in TOOLS
        found = call(ask["tool"], view, **ask.get("arguments", {}))
        assert lacking(found, ask) == [], json.dumps(found, ensure_ascii=False, indent=1)
