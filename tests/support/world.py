"""What a case of `tests/world/` expects of an answer."""

import json
from typing import Any


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
