"""A receiver that we did not write: Arize Phoenix, which `make traces` installs. PHOENIX names its program."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.inspector import Inspector
from support.model_server import ModelServer
from support.proxy import Proxy

pytestmark = [
    pytest.mark.by_hand,
    pytest.mark.skipif("PHOENIX" not in os.environ, reason="Phoenix is not installed; `make traces`"),
]
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
START_S = 180.0


class Phoenix:
    def __init__(self, url: str) -> None:
        self.url = url

    def spans(self, count: int) -> list[dict[str, Any]]:
        """All spans that it shows, by their sequences, once there are so many."""
        deadline = time.monotonic() + START_S
        while True:
            found: list[dict[str, Any]] = []
            with suppress(httpx2.HTTPError, KeyError, ValueError):
                answer = httpx2.get(
                    f"{self.url}/v1/projects/default/spans", params={"limit": 500}, trust_env=False
                )
                found = answer.json()["data"]
            if len(found) >= count:
                return sorted(found, key=lambda span: int(span["attributes"]["workspaced.seq"]))
            assert time.monotonic() < deadline, found
            time.sleep(0.5)


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[Phoenix]:
    ports = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            ports.append(taken.getsockname()[1])
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "PHOENIX_WORKING_DIR": str(tmp_path / "phoenix"),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(ports[0]),
        "PHOENIX_GRPC_PORT": str(ports[1]),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    env.pop("PYTHONPATH", None)
    program = subprocess.Popen(
        [os.environ["PHOENIX"], "serve"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        made = Phoenix(f"http://127.0.0.1:{ports[0]}")
        deadline = time.monotonic() + START_S
        while True:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{made.url}/healthz", trust_env=False).status_code == 200:
                    break
            assert time.monotonic() < deadline and program.poll() is None
            time.sleep(0.5)
        yield made
    finally:
        program.terminate()
        program.wait(START_S)


def test_spans_arrive_nest_and_lead_back_to_what_the_inspector_shows(phoenix: Phoenix, daemon: Any) -> None:
    running = daemon(notes={"a.md": "# A\n"}, env={"WORKSPACED_TRACES": json.dumps({"otlp": phoenix.url})})
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
    with running.connect(name="agent") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.call("tools/call", {"name": "get_current_note", "arguments": {}, "_meta": headers})
    with ModelServer() as upstream, Proxy(running, upstream) as proxy:
        assert proxy.request("POST", "/v1/messages", body, headers).context == "added"
    called, inserted, chat = phoenix.spans(3)
    assert [(each["name"], each["span_kind"]) for each in (called, chat)] == [
        ("tools/call get_current_note", "TOOL"),
        ("chat", "LLM"),
    ]
    assert {each["context"]["trace_id"] for each in (called, inserted, chat)} == {TRACE}
    assert [each["parent_id"] for each in (called, inserted, chat)] == [SPAN, chat["context"]["span_id"], SPAN]
    assert chat["attributes"]["llm.token_count.prompt"] > 0
    with Inspector(running.data, env=running.env) as inspector:
        for span in (called, inserted):
            shown = inspector.get(f"/api/calls/{span['attributes']['workspaced.seq']}")
            assert shown["tool"] == span["name"].removeprefix("tools/call ")
