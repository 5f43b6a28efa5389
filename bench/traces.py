"""What live traces cost: the CPU of a daemon's calls, with them and without, and of the process that sends."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from workspaced import replay
from workspaced.settings.settings import TracesSettings
from workspaced.traces.live import LiveTraces
from workspaced.traces.wire import TextsFrom
from workspaced_events.schema.catalogue import Event

from .bare import Wire
from .daemon import Daemon, Place, call_line, daemon
from .measure import Figure, at_most, interleaved, median
from .tools import usual_notes, workspace_of

PER_S: Final = 100
"""Calls a second."""
_GROUP: Final = 3
"""Events of one commit at that rate: a call is recorded within 30 ms."""


def overhead(at: Place) -> Iterator[Figure]:
    """What the daemon does for its spans, as a share of what a call costs it, at PER_S calls a second.

    Two daemons, one that sends spans, differ by more than 2 % on a machine that others use, also where both do the
    same. So the figure is what `LiveTraces` uses of a loop of its own, over the events that the daemon recorded.
    """
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
        sender_ms = (cpu_ms(sender) - before_ms) / ((at.sizes.rounds + 1) * count)
        for wire in wires:
            wire.close()
        traces = on.status()["traces"]
        with replay.open(on.data) as log:
            events = [each for each in log.events() if each.type == "tool_called"][:count]
        taken_ms = asyncio.run(_taken(events, _url(server), at.sizes.rounds))
        fields = {
            "rounds": at.sizes.rounds,
            "calls": at.sizes.rounds * count,
            "taken_us": median(taken_ms) * 1_000,
            "on_ms": median(with_it),
            "off_ms": median(without),
            "sender_ms": sender_ms,
            "sent": traces["sent"],
            "dropped": traces["dropped"],
        }
    value = 1 + median(taken_ms) / median(without)
    yield Figure("traces.overhead", value, "x the CPU of a call without", at_most(1.02), None, fields)


async def _taken(events: Sequence[Event], url: str, rounds: int) -> list[float]:
    """The CPU of the loop's thread for each event, in milliseconds: what it uses less what waiting alone uses."""
    traces = LiveTraces(TracesSettings(otlp=url), "bench", TextsFrom("", (), ()))
    running = asyncio.ensure_future(traces.run())
    await asyncio.sleep(3.0)  # the process is there
    found: list[float] = []
    for _ in range(rounds):
        used: list[float] = []
        for take in (traces.take, lambda _group: None):
            before = time.thread_time()
            for first in range(0, len(events), _GROUP):
                take(events[first : first + _GROUP])
                await asyncio.sleep(_GROUP / PER_S)
            await asyncio.sleep(2.0)  # all are written, and counted
            used.append(time.thread_time() - before)
        found.append((used[0] - used[1]) * 1_000 / len(events))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await traces.finish()
    return found


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
