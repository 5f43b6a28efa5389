"""The Python clients' method for each tool: structs with what `tool()` gives as JSON."""

from typing import Any

import msgspec
import pytest

from workspaced import Client
from workspaced_tools.tools.registry import TOOLS

ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_note_by_reference": {"reference": "work/plan.md"},
    "get_note_diff": {"reference": "a.md", "sinceSeq": 1},
    "search_workspace": {"query": "note"},
    "get_current_note": {"includeOutline": True, "includeLinks": True},
    "get_workspace_context": {"includeContent": True},
}


@pytest.fixture(scope="module")
def looking(shared: Any) -> Any:
    shared.publish("active_note_set", note="a.md")
    return shared


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


GROWING = "dwellSeconds"
"""Differs from one call to the next."""


def contained(part: Any, whole: Any) -> bool:
    """Whether `part`, a struct as JSON, says nothing else than `whole`, and leaves no typed field of it out."""
    if isinstance(part, dict) and isinstance(whole, dict):
        present = {
            key: value for key, value in part.items() if value is not None and value != [] and key != GROWING
        }
        return all(contained(value, whole.get(key)) for key, value in present.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(contained, part, whole))
    return bool(part == whole)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tools_method_gives_its_answer_as_a_struct(looking: Any, tool: str) -> None:
    arguments = ARGUMENTS.get(tool, {})
    with looking.connect() as client:
        plain = client.tool(tool, arguments)
        typed = getattr(client, tool)(**{snake(name): value for name, value in arguments.items()})
    assert typed.success is plain["success"] and typed.message == plain["message"]
    assert typed.as_of_seq == plain["asOfSeq"]
    if plain["success"]:
        assert contained(msgspec.to_builtins(typed.data), plain["data"])


def test_a_failure_says_in_its_details_what_may_have_been_meant(looking: Any) -> None:
    with looking.connect() as client:
        absent = client.get_note_by_reference(reference="Alpa")
    assert not absent.success and absent.code == "NOTE_NOT_FOUND" and absent.error
    assert absent.data is None and [each["id"] for each in absent.details["near"]][:1] == ["a.md"]


async def test_the_asynchronous_client_has_them_as_well(looking: Any) -> None:
    async with Client.open(looking.socket, name="test") as client:
        found = await client.get_current_note(include_outline=True)
    assert found.data is not None and found.data.outline is not None
    assert found.data.outline[0].level == 1
