"""Calls over MCP measured without a network: what the floor answers, and what is done on request only."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

ANSWERS = {
    "initialize": {"serverInfo": {"name": "é"}},
    "tools/call": {"content": [{"type": "text", "text": "{}"}]},
}


def floor(tmp_path: Path, *more: str) -> list[object]:
    path = tmp_path / "answers"
    path.write_text(json.dumps(ANSWERS))
    requests = [
        {"id": 1, "method": "initialize"},
        {"method": "notifications/initialized"},
        {"id": "two", "method": "tools/call", "params": {"name": "any"}},
        {"id": 3, "method": "unknown"},
    ]
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "mcp_floor.py"), str(path), *more],
        input="".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_floor_gives_the_answers_it_was_told_under_the_requests_id(tmp_path):
    wanted = [
        {"jsonrpc": "2.0", "id": 1, "result": ANSWERS["initialize"]},
        {"jsonrpc": "2.0", "id": "two", "result": ANSWERS["tools/call"]},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
    ]

    assert floor(tmp_path) == wanted
    assert floor(tmp_path, "encode") == wanted


@pytest.mark.thorough
def test_without_a_registry_all_is_measured_that_needs_no_client_of_others(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--only", "mcp", "--dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = {figure["bench"]: figure for figure in map(json.loads, done.stdout.splitlines())}
    assert "installing mcp==" in figures.pop("mcp.call")["skipped"]
    assert set(figures) == {
        "mcp.socket.native.p50",
        "mcp.socket.legacy.p50",
        "mcp.socket.modern.p50",
        "mcp.pipe.call.to_floor",
        "mcp.pipe.ping.to_floor",
        "mcp.bridge.resident",
        "mcp.bridge.first_answer",
        "mcp.bridge.call.over_socket",
        "mcp.bridge.ping.over_socket",
    }
    # A difference of two times may be nothing, or less, on a busy machine.
    assert all(figure["value"] > 0 for name, figure in figures.items() if not name.endswith(".over_socket"))
    assert list(tmp_path.iterdir()) == []
