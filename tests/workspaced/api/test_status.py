"""`workspaced/status` and `workspaced/hello`: what a client learns of the daemon."""

from typing import Any

from support.daemon import refusal

from workspaced import __version__


def test_hello_says_who_is_there_and_what_it_takes(shared: Any) -> None:
    wire = shared.wire()
    result = wire.ask(
        "workspaced/hello",
        {"client": {"name": "new-editor", "version": "9", "pid": 1, "mood": "good"}, "future": 1},
    )["result"]
    assert result["version"] == __version__ and result["workspace"] == "default"
    assert result["vaults"] == [{"id": "vault", "path": str(shared.vault)}]
    limits = result["limits"]
    assert limits["requestBytes"] == 1_048_576 and limits["answerBytes"] == 8 * 1_048_576
    assert limits["batchActions"] == 1_000 and limits["inFlight"] == 32


def test_the_instance_is_new_after_a_restart_and_the_log_is_not(daemon: Any) -> None:
    running = daemon()
    first = running.connect().server
    running.restart()
    second = running.connect().server
    assert first["instance"] != second["instance"]
    assert first["clock"].rpartition(":")[0] == second["clock"].rpartition(":")[0]


def test_status_says_what_the_daemon_is_doing(shared: Any, client: Any) -> None:
    before = client.call("workspaced/status")
    client.tool("get_workspace_context")
    status = client.call("workspaced/status", {})
    assert status["pid"] == shared.pid and status["workspace"] == "default"
    assert status["uptimeS"] > 0 and status["log"]["durability"] == "synced"
    assert status["log"]["unknownEvents"] == 0 and status["degraded"] == []
    assert status["queues"]["connections"] >= 1
    tool = status["tools"]["get_workspace_context"]
    assert tool["calls"] == before["tools"]["get_workspace_context"]["calls"] + 1
    assert 0 < tool["p50Us"] <= tool["p99Us"] <= tool["maxUs"]
    (vault,) = status["vaults"]
    assert vault["id"] == "vault" and vault["current"] is True
    assert vault["watcher"] in ("watching", "off", "reconciling only")
    assert {"hits", "misses", "bytes"} <= vault["cache"].keys()


def test_codes_of_requests_without_context_are_bounded(client: Any) -> None:
    for first in (0, 64):
        reasons = [{"code": f"CODE_{first + number}", "count": 1} for number in range(64)]
        client.call("workspaced/context/overlay/unchanged", {"reasons": reasons})
    unchanged = client.call("workspaced/status")["unchanged"]
    assert unchanged["OTHER"] == 64 and len(unchanged) == 65
    for wrong in ([{"code": "no code", "count": 1}], [{"code": "CODE", "count": 0}], [*reasons, reasons[0]]):
        refused = refusal(client.call, "workspaced/context/overlay/unchanged", {"reasons": wrong})
        assert refused.code == "INVALID_ARGUMENT"


def test_a_reconcile_on_demand_finds_what_no_watcher_told(daemon: Any) -> None:
    running = daemon("--no-watch", "--reconcile-s", "3600")
    with running.connect() as client:

        def found() -> int:
            number: int = client.call("workspaced/reconcile")["vaults"][0]["index"]["notesFound"]
            return number

        while found() < 4:
            pass  # the crawl at the start still runs
        (running.vault / "unheard of.md").write_text("# Unheard of\n")
        assert found() == 5
        assert client.tool("get_note_by_reference", {"reference": "Unheard of"})["success"]
    assert running.cli("doctor", "--reconcile").returncode in (0, 1)
