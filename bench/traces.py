"""What live traces cost: the CPU of a daemon's calls, with them and without, and of the process that sends."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from .bare import Wire
from .daemon import Daemon, Place, call_line, daemon
from .measure import Figure, at_most, interleaved, median
from .tools import usual_notes, workspace_of

PER_S: Final = 100
"""Calls a second."""


def overhead(at: Place) -> Iterator[Figure]:
    """The same calls of a daemon that sends spans and of one that does not, in turns, at PER_S calls a second."""
    notes = usual_notes(at.vault, 7)
    with (
        _receiver() as server,
        daemon(at, at.vault, name="on", settings={"WORKSPACED_TRACES": f'{{"otlp": "{_url(server)}"}}'}) as on,
        daemon(at, at.vault, name="off") as off,
    ):
        for running in (on, off):
            running.wait_for_text()
            with running.client() as client:
                client.publish(workspace_of(notes))
        sender = _child(on)
        wires = on.wire(), off.wire()
        count = at.sizes.calls
        before_ms = cpu_ms(sender)
        with_it, without = interleaved(
            at.sizes.rounds, lambda: _calls(on, wires[0], count), lambda: _calls(off, wires[1], count)
        )
        sender_ms = (cpu_ms(sender) - before_ms) / (len(with_it) * count)
        for wire in wires:
            wire.close()
        traces = on.status()["traces"]
        fields = {
            "rounds": at.sizes.rounds,
            "calls": at.sizes.rounds * count,
            "on_ms": median(with_it),
            "off_ms": median(without),
            "sender_ms": sender_ms,
            "sent": traces["sent"],
            "dropped": traces["dropped"],
        }
    yield Figure(
        "traces.overhead", sum(with_it) / sum(without), "x the CPU of a call without", at_most(1.02), None, fields
    )


def _calls(running: Daemon, wire: Wire, count: int) -> float:
    """The daemon's CPU of a call, in milliseconds, its recording and its events included."""
    line, begun = call_line("get_workspace_context"), time.perf_counter()
    before = cpu_ms(running.pid)
    for number in range(1, count + 1):
        wire.ask(line)
        time.sleep(max(0.0, begun + number / PER_S - time.perf_counter()))
    time.sleep(0.5)  # what was recorded is in the log, and on its way, by then
    return (cpu_ms(running.pid) - before) / count


def cpu_ms(pid: int) -> float:
    """The CPU that the threads of a process have used, to the nanosecond. Linux alone."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def _child(running: Daemon) -> int:
    """The process that sends."""
    return int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0])


class _Takes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def _receiver() -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Takes)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _url(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"
