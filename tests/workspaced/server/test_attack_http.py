"""HTTP on the daemon's socket, attacked: what one client costs the daemon and the others."""

import json
import os
import select
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from support.http_socket import JSON, HttpWire, message, modern_post, post, read

from workspaced.limits import HTTP_SESSIONS_MAX

MEGABYTE = 1024 * 1024
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}}
ANSWERED = b"HTTP/1.1 200"


def test_a_client_that_sends_faster_than_it_is_answered_is_not_read_ahead(daemon: Any) -> None:
    running = daemon()
    one = modern_post("tools/call", name="get_current_note", arguments={"at": 10**6})  # answered on a thread
    many = memoryview(one * 1_000)
    ahead = sent = answered = 0
    with closing(socket.socket(socket.AF_UNIX)) as raw:
        raw.connect(str(running.socket))
        raw.setblocking(False)
        while answered < 300 and ahead < 4 * MEGABYTE:
            readable, writable, _ = select.select([raw], [raw], [], 20)
            assert readable or writable, "neither read nor answered"
            if readable:
                answered += raw.recv(65_536).count(ANSWERED)
            if writable:
                sent += raw.send(many[sent % len(many) :][:65_536])
            ahead = sent - answered * len(one)
    assert ahead < 4 * MEGABYTE


def cpu_s(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_body_in_chunks_of_one_byte_does_not_hold_the_loop(daemon: Any) -> None:
    running = daemon()
    head = post(b"").split(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    before = cpu_s(running.pid)
    with closing(socket.socket(socket.AF_UNIX)) as raw:
        raw.settimeout(60)
        raw.connect(str(running.socket))
        with suppress(ConnectionError):  # it is answered before it is through
            raw.sendall(head + b"1\r\n \r\n" * 1_000_000 + b"0\r\n\r\n")
        assert raw.recv(65_536).startswith(b"HTTP/1.1 4")
    assert cpu_s(running.pid) - before < 1.0


def test_handshakes_of_others_cut_no_request_that_is_under_way(daemon: Any) -> None:
    running = daemon()
    with closing(HttpWire(running.socket)) as working, closing(HttpWire(running.socket)) as others:
        greeting = working.ask("POST", message("initialize", HELLO))
        session = greeting.getheader("Mcp-Session-Id")
        assert session is not None and read(greeting)[0] == 200
        headers = {**JSON, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        with running.connect() as client:
            seq = int(client.call("workspaced/hello")["clock"].rpartition(":")[2])
            call = message("tools/call", {"name": "get_workspace_context", "arguments": {"minSeq": seq + 1}}, 2)
            working.request("POST", "/mcp", json.dumps(call).encode(), headers)
            for _ in range(HTTP_SESSIONS_MAX):
                assert read(others.ask("POST", message("initialize", HELLO)))[0] == 200
            client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
            assert read(working.getresponse())[0] == 200
