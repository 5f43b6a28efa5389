"""What a case of `tests/world/` makes of files, and what it expects of an answer."""

import base64
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.vault import Vault


def read(case: Path) -> dict[str, Any]:
    told = tomllib.loads(case.read_text())
    assert told["follows"] and told["right"], "a case says whom it follows and what is right"
    return told


def put(folder: Path, path: str, what: Any) -> None:
    """Makes a file: of a text, of `{bytes}` (base64), as `{symlink}` to a path, or as `{hardlink}` of a file."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    match what:
        case str():
            file.write_text(what, newline="")
        case {"bytes": content}:
            file.write_bytes(base64.b64decode(content))
        case {"symlink": to}:
            file.symlink_to(to)
        case {"hardlink": other}:
            os.link(folder / other, file)
        case _:
            raise AssertionError(f"no file is made of {what!r}")


def happens(vault: Vault, step: dict[str, Any], settle: Callable[[Vault], Changes]) -> Changes:
    """Lets files be renamed (`rename`), removed (`remove`) and written (`write`, as `put` takes them), and the
    vault notice it: by a watcher's hint, or as `look` says, by a `reconcile`, once all may `settle`, or not at all
    (`none`).
    """
    folder = vault.root.path
    for old, new in step.get("rename", {}).items():
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        (folder / old).rename(folder / new)
    for path in step.get("remove", []):
        (folder / path).unlink()
    for path, what in step.get("write", {}).items():
        put(folder, path, what)
    match step.get("look", "hint"):
        case "hint":
            renamed = step.get("rename", {})
            return vault.changed([*renamed, *renamed.values(), *step.get("remove", []), *step.get("write", {})])
        case "reconcile":
            return vault.reconcile()
        case "settle":
            found: Changes = settle(vault)
            return found
        case "none":
            return Changes()
        case other:
            raise AssertionError(f"nobody looks by {other!r}")


def lacking(found: Any, expected: dict[str, Any]) -> list[str]:
    """What `found` lacks of `expected`: its `answer`, `holds` and `lacks` (see tests/world/test_notes.py)."""
    assert {"answer", "holds", "lacks"} & expected.keys(), "nothing is expected"
    text = json.dumps(found, ensure_ascii=False)
    missing = [f"without {part!r}" for part in expected.get("holds", []) if _in_json(part) not in text]
    missing += [f"with {part!r}" for part in expected.get("lacks", []) if _in_json(part) in text]
    return missing + _differences(expected.get("answer", {}), found, "")


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _differences(expected: Any, found: Any, at: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            each
            for key, value in expected.items()
            for each in (_differences(value, found[key], f"{at}.{key}") if key in found else [f"no {at}.{key}"])
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            each
            for number, value in enumerate(expected)
            for each in _differences(value, found[number], f"{at}[{number}]")
        ]
    return [] if expected == found and type(expected) is type(found) else [f"{at} is {found!r}, not {expected!r}"]
