"""The published schemas: checked in, current, and true of what crosses the wire."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support import ROOT
from support.daemon import refusal

from workspaced.cli.daemon.schema import all_schemas
from workspaced.errors import CODES

SCHEMAS = all_schemas()

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "vault_switched": [{"vaultId": "vault"}],
    "active_note_set": [{"note": "a.md"}, {"note": None}, {"note": "b.md", "title": "Beta"}],
    "active_note_cleared": [{}],
    "selection_changed": [
        {"note": "a.md", "startLine": 1, "endLine": 2},
        {"note": "a.md", "startLine": 1, "endLine": 1, "text": "# Alpha"},
        {"note": "a.md", "startLine": 1, "endLine": 9, "text": "long " * 2_000},
    ],
    "note_pinned": [{"note": "a.md"}, {"note": "b.md", "index": 0}],
    "note_unpinned": [{"note": "a.md"}],
    "pinned_notes_reordered": [{"notes": ["b.md"]}],
    "temporary_tab_opened": [{"note": "c.md", "source": "wikilink"}, {"note": "d.md", "source": "search"}],
    "temporary_tab_closed": [{"note": "c.md"}, {"tabId": "tab-1"}],
    "temporary_tabs_reordered": [{"tabIds": []}],
    "temporary_tabs_cleared": [{}],
    "note_renamed": [{"from": "a.md", "to": "z.md"}],
    "note_deleted": [{"note": "z.md"}],
    "note_archived": [{"note": "b.md"}],
    "note_unarchived": [{"note": "b.md"}],
}


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name])


@pytest.mark.thorough
def test_each_is_a_schema() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"].endswith("2020-12/schema")


def test_the_check_passes_and_notices_a_difference(shared: Any, tmp_path: Path) -> None:
    assert shared.cli("schema", "--check", "--dir", str(ROOT / "schemas")).returncode == 0
    assert shared.cli("schema", "--write", "--dir", str(tmp_path)).returncode == 0
    assert shared.cli("schema", "--check", "--dir", str(tmp_path)).returncode == 0
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "error.json").unlink()
    (tmp_path / "stray.json").write_text("{}")
    done = shared.cli("schema", "--check", "--dir", str(tmp_path))
    assert done.returncode == 1
    assert all(word in done.stderr for word in ("state differs", "error is missing", "stray is none"))


def test_there_is_an_example_of_every_action() -> None:
    assert set(EXAMPLES) == {name.removeprefix("actions/") for name in SCHEMAS if name.startswith("actions/")}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_what_the_schema_takes_the_daemon_takes_and_the_log_shows(shared: Any, client: Any, name: str) -> None:
    client.call("workspaced/snapshot", {"source": "test", "active": "a.md", "pins": ["b.md"], "tabs": []})
    client.publish([{"type": "temporary_tabs_cleared"}])
    for data in EXAMPLES[name]:
        action = {"type": name, "data": data}
        validator(f"actions/{name}").validate(action)
        (receipt,) = client.publish([action], source="test")
        (event,) = client.call("workspaced/log", {"from": receipt["seq"], "limit": 1})["events"]
        validator(f"events/{event['type']}").validate(event)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_what_the_schema_refuses_the_daemon_refuses(client: Any, name: str) -> None:
    good = EXAMPLES[name][0]
    wrong: list[Any] = [{**good, "colour": "red"}, dict.fromkeys(good, 7.5) or {"x": 1}]
    if name != "temporary_tab_closed":
        wrong += [{key: value for key, value in good.items() if key != each} for each in good]
    for data in wrong:
        action = {"type": name, "data": data}
        assert not validator(f"actions/{name}").is_valid(action), action
        assert refusal(client.publish, [action]).code in ("INVALID_ARGUMENT", "OUTSIDE_VAULT")


def test_every_event_of_a_real_log_fits_its_schema(daemon: Any) -> None:
    running = daemon()
    with running.connect() as client:
        for name, examples in EXAMPLES.items():
            if not name.endswith("_reordered"):
                client.publish([{"type": name, "data": data} for data in examples])
        client.tool("get_workspace_context", {"includeContent": True})
    running.restart()
    seen = set()
    for event in running.events():
        validator(f"events/{event['type']}").validate(event)
        seen.add(event["type"])
    assert {"daemon_started", "daemon_stopped", "vault_opened", "tool_called", "note_renamed"} <= seen
    header = json.loads(running.cli("log", "export").stdout.splitlines()[0])
    validator("export").validate(header)


def test_the_state_fits_its_schema(client: Any) -> None:
    validator("state").validate(client.state(at=0))
    client.publish(
        [{"type": name, "data": data} for name in ("note_pinned", "note_archived") for data in EXAMPLES[name]]
    )
    client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    client.publish([{"type": "selection_changed", "data": data} for data in EXAMPLES["selection_changed"]])
    validator("state").validate(client.state())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("workspaced/nothing", {}),
        ("workspaced/state", {"at": -1}),
        ("workspaced/state", {"minSeq": 10**9}),
        ("workspaced/publish", {"actions": [{"type": "nothing"}]}),
        ("workspaced/publish", {"actions": [{"type": "note_pinned", "data": {"note": "/x.md"}}]}),
        ("workspaced/publish", {"actions": [{"type": "daemon_started", "data": {}}]}),
        ("workspaced/publish", {"actions": [1] * 1_001}),
        ("tools/call", {"name": "nothing"}),
    ],
)
def test_errors_fit_their_schema_and_their_table(shared: Any, method: str, params: Any) -> None:
    wire = shared.wire()
    wire.ask("workspaced/hello")
    error = wire.ask(method, params)["error"]
    validator("error").validate(error)
    assert CODES[error["data"]["code"]].jsonrpc == error["code"]
    assert error["message"]


@pytest.mark.parametrize(
    ("name", "params", "good"),
    [
        ("publish", {"actions": []}, True),
        ("publish", {}, False),
        ("state", {}, True),
        ("state", {"at": -1}, False),
        ("log", {"from": 1, "limit": 10, "types": []}, True),
        ("log", {"limit": 0}, False),
        ("subscribe", {"since": "a:1", "types": []}, True),
        ("subscribe", {"since": []}, False),
        ("snapshot", {"source": "e", "active": None, "pins": [], "tabs": [{"note": "a.md"}]}, True),
        ("snapshot", {"source": "e"}, False),
        ("hello", {"client": {"name": "x"}, "future": 1}, True),
        ("status", {"x": 1}, False),
    ],
)
def test_the_methods_schemas_say_what_the_daemon_checks(
    shared: Any, name: str, params: dict[str, Any], good: bool
) -> None:
    assert validator(f"methods/{name}").is_valid(params) is good
    answer = shared.wire().ask(f"workspaced/{name}", params)
    refused = "error" in answer and answer["error"]["message"].startswith(f"workspaced/{name}:")
    assert refused is not good
