"""`workspaced/publish`: checked whole, appended whole, acknowledged once durable."""

from typing import Any

import pytest
from support.daemon import refusal, write_vault


def pin(note: str, **more: Any) -> dict[str, Any]:
    return {"type": "note_pinned", "data": {"note": note}, **more}


def test_a_receipt_names_sequence_and_id_and_the_clock_covers_it(shared: Any) -> None:
    wire = shared.wire()
    result = wire.ask("workspaced/publish", {"actions": [pin("a.md", id="mine-1"), pin("b.md")]})["result"]
    first, second = result["events"]
    assert first["id"] == "mine-1" and not first["duplicate"]
    assert second["seq"] == first["seq"] + 1 and len(second["id"]) == 36
    assert int(result["clock"].rpartition(":")[2]) >= second["seq"]
    assert result["durability"] == "synced"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ({"type": "note_exploded", "data": {}}, "UNKNOWN_ACTION"),
        ({"type": "tool_called", "data": {}}, "NOT_ALLOWED"),
        (pin("../secret.md"), "OUTSIDE_VAULT"),
        (pin("a.md", vault="nowhere"), "INVALID_ARGUMENT"),
        ({"type": "pinned_notes_reordered", "data": {"notes": ["never-pinned.md"]}}, "INVALID_ARGUMENT"),
        (None, "INVALID_ARGUMENT"),
    ],
    ids=repr,
)
def test_a_wrong_action_is_named_and_nothing_of_its_batch_is_appended(
    shared: Any, client: Any, action: Any, code: str
) -> None:
    before = client.state()
    batch = [pin("batch-a.md"), pin("batch-b.md"), action, pin("batch-c.md")]
    error = refusal(client.call, "workspaced/publish", {"actions": batch})
    assert error.code == code
    assert error.details["index"] == 2
    assert client.state() == before


def test_a_batch_of_too_many_bytes_is_refused_whole(client: Any) -> None:
    selection = {"note": "a.md", "startLine": 1, "endLine": 2, "title": "t" * 500, "text": "x" * 400}
    batch = [{"type": "selection_changed", "data": selection}] * 900
    before = client.state()
    assert refusal(client.call, "workspaced/publish", {"actions": batch}).code == "BATCH_TOO_LARGE"
    assert client.state() == before


def test_a_publish_without_an_id_is_recorded_and_not_answered(shared: Any) -> None:
    wire = shared.wire()
    wire.send(
        b'{"jsonrpc":"2.0","method":"workspaced/publish","params":{"actions":'
        b'[{"type":"active_note_set","data":{"note":"silent.md"}}]}}\n'
        b'{"jsonrpc":"2.0","method":"workspaced/publish","params":{"actions":[{"type":"wrong"}]}}\n'
    )
    # Requests of one connection are taken in their order, so this one's receipt comes after the silent event.
    answer = wire.ask("workspaced/publish", {"actions": [pin("loud.md")]})
    seq = answer["result"]["events"][0]["seq"]
    events = wire.ask("workspaced/log", {"from": seq - 1, "limit": 1})["result"]["events"]
    assert events[0]["data"] == {"note": "silent.md"}


def test_an_event_for_another_vault_changes_only_that_one(daemon: Any) -> None:
    running = daemon(start=False)
    second = write_vault(running.root / "second")
    running.flags = ("--vault", str(second))
    client = running.start().connect()
    client.publish([pin("a.md"), pin("b.md", vault="second")])
    assert [each["id"] for each in client.state()["pinnedNotes"]] == ["a.md"]
    assert [each["id"] for each in client.state(vault="second")["pinnedNotes"]] == ["b.md"]
    client.publish([{"type": "vault_switched", "data": {"vaultId": "second"}}])
    assert client.state()["currentVaultId"] == "second"
    assert [each["id"] for each in client.state()["pinnedNotes"]] == ["b.md"]
