"""What a call over MCP costs: `make bench ONLY=mcp`, or `python -m bench.mcp_calls [--installed DIR]`.

The same call is asked of the daemon through `workspaced mcp`, of a loop that knows the answer by heart, and of the
official SDK's server that knows it too, in turns and in both eras of MCP. All three give the same bytes under the
same tool schemas to the same client, so what differs is the server. The official client is installed from the
package index, so this is run only when asked for.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from workspaced.client.wire import request_line

from .bare import Wire, echo, echo_request, latencies_ms
from .daemon import Daemon, Place, call_line, daemon, place
from .measure import FULL, QUICK, Bound, Figure, at_least, at_most, interleaved, median, p50s, percentile, pooled
from .peer_install import Pip, Skip, install
from .peer_list import HERE
from .peer_run import Client, resident_mb, tree
from .peer_table import Skipped
from .tools import usual_notes, workspace_of

CLIENT: Final = Pip(("mcp==2.3.0",))
"""The official Python client and server, as in tests/acceptance."""
MODERN: Final = "2026-07-28"
MODES: Final = ("legacy", MODERN)
TOOL: Final = "get_workspace_context"
NOTES: Final = 7
FLOOR: Final = "x bare loop that knows the answer"
CALL_S: Final = 30.0
STARTS: Final = 4
"""Starts a round."""
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_INITIALIZE: Final = request_line(
    0,
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
)
_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_FIRST: Final = {"legacy": "initialize", MODERN: "server/discover"}


def calls(at: Place, installed: Path | None = None) -> Iterator[Figure]:
    """All of it, with a workspace of 7 notes; the client installed below `installed`, else thrown away."""
    python = None
    try:
        python = install(CLIENT, installed or at.new("client")) / "python"
    except Skip as skip:
        yield Skipped("mcp.call", 0.0, "", reason=str(skip))
    with daemon(at, at.vault) as running:
        running.wait_for_index()
        with running.client() as editor:
            editor.publish(workspace_of(usual_notes(at.vault, NOTES)))
        answers = {mode: _answers_of(at, running, mode) for mode in MODES}
        yield from _over_socket(at, running)
        yield from _over_pipes(at, running, _servers(running, python, answers["legacy"]))
        yield from _starts(at, _servers(running, None, answers["legacy"]))
        if python is not None:
            with Client(python, at.new("client.stderr"), "mcp_client.py") as client:
                for mode in MODES:
                    yield from _over_client(at, client, mode, _servers(running, python, answers[mode]))


def _servers(running: Daemon, python: Path | None, answers: Path) -> dict[str, list[str]]:
    """Commands of all that are compared, by name; the SDK's server where there is a Python that has it."""
    floor = [sys.executable, str(HERE / "mcp_floor.py"), str(answers)]
    return {
        "bridge": [sys.executable, "-m", "workspaced", "mcp", "--socket", str(running.socket)],
        "floor": floor,
        "floor_encoding": [*floor, "encode"],
        **({"sdk": [str(python), str(HERE / "mcp_sdk.py"), str(answers)]} if python else {}),
    }


def _line(mode: str, method: str, params: dict[str, Any]) -> bytes:
    return request_line(1, method, params if mode == "legacy" else {**params, "_meta": _META})


def _call_line(mode: str) -> bytes:
    return _line(mode, "tools/call", {"name": TOOL, "arguments": {}})


def _wire(running: Daemon, mode: str) -> Wire:
    """A connection of that era."""
    wire = Wire(running.socket)
    if mode == "legacy":
        wire.ask(_INITIALIZE)
    return wire


def _answers_of(at: Place, running: Daemon, mode: str) -> Path:
    """A file with what the daemon says in that era, by method."""
    wire = Wire(running.socket)
    first = _INITIALIZE if mode == "legacy" else _line(mode, "server/discover", {})
    asked = {_FIRST[mode]: first, "tools/list": _line(mode, "tools/list", {}), "tools/call": _call_line(mode)}
    found = {method: msgspec.json.decode(wire.ask(line))["result"] for method, line in asked.items()}
    wire.close()
    context = found["tools/call"]["structuredContent"]["data"]
    assert context["summary"]["totalNotes"] == NOTES, context["summary"]
    path = at.new("answers")
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


# -- on the socket, without any client's own cost --


def _over_socket(at: Place, running: Daemon) -> Iterator[Figure]:
    """Our own protocol and both eras of MCP, beside an echo of as many bytes."""
    with echo(at.sockets) as bare, contextlib.ExitStack() as stack:
        lines = {"native": call_line(TOOL), **{mode: _call_line(mode) for mode in MODES}}
        wires = {"native": running.wire(), **{mode: _wire(running, mode) for mode in MODES}}
        for wire in wires.values():
            stack.callback(wire.close)
        size = {name: len(wires[name].ask(line)) for name, line in lines.items()}
        ours = [_asking(at, wires[name], line) for name, line in lines.items()]
        echoes = [_asking(at, bare, echo_request(len(line), size[name])) for name, line in lines.items()]
        taken = interleaved(at.sizes.rounds, *ours, *echoes)
    for name, mine, echoed in zip(lines, taken, taken[len(lines) :], strict=False):
        fields = {
            "p99_ms": percentile(pooled(mine), 0.99),
            "ratio_to_echo": _ratio(mine, echoed),
            "ratio_to_native": _ratio(mine, taken[0]),
            "request_bytes": len(lines[name]),
            "answer_bytes": size[name],
            **_counts(mine),
        }
        yield Figure(f"mcp.socket.{_era(name)}.p50", median(pooled(mine)), "ms", fields=fields)


def _era(mode: str) -> str:
    """As figures name it."""
    return "modern" if mode == MODERN else mode


def _asking(at: Place, wire: "Wire | Pipes", line: bytes) -> Callable[[], list[float]]:
    return lambda: latencies_ms(at.sizes.calls, lambda _: wire.ask(line))


def _ratio(ours: Sequence[Sequence[float]], base: Sequence[Sequence[float]]) -> float:
    """The median over rounds of the ratio of medians."""
    return median([a / b for a, b in zip(p50s(ours), p50s(base), strict=True)])


def _counts(rounds: Sequence[Sequence[float]]) -> dict[str, Any]:
    return {"in_flight": 1, "notes": NOTES, "rounds": len(rounds), "calls": sum(map(len, rounds))}


# -- on pipes, as a client's process would --


class Pipes:
    """A server on pipes, asked line by line."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, line: bytes) -> None:
        """A line that it does not answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def ask(self, line: bytes) -> bytes:
        """The next line it writes once it has read this one."""
        assert self._process.stdout is not None
        self.tell(line)
        if not (answer := self._process.stdout.readline()):
            raise ConnectionError("the server ended")
        return answer

    def resident_mb(self) -> float:
        """Its resident memory, with its children's."""
        return resident_mb(tree([self._process.pid]))

    def close(self) -> None:
        """Ends it as a client does."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _over_pipes(at: Place, running: Daemon, servers: dict[str, list[str]]) -> Iterator[Figure]:
    """What the bridge adds, what it holds, and what the SDK's server takes without its client."""
    with contextlib.ExitStack() as stack:
        wire = stack.enter_context(contextlib.closing(_wire(running, "legacy")))
        pipes = {name: stack.enter_context(contextlib.closing(Pipes(each))) for name, each in servers.items()}
        for each in pipes.values():
            each.ask(_INITIALIZE)
            each.tell(_INITIALIZED)
        for kind, line in (("call", _call_line("legacy")), ("ping", _line("legacy", "ping", {}))):
            asked: dict[str, Wire | Pipes] = {"socket": wire, **pipes}
            samplers = [_asking(at, each, line) for each in asked.values()]
            taken = dict(zip(asked, interleaved(at.sizes.rounds, *samplers), strict=True))
            yield from _on_pipes(at, kind, taken)
        resident = {f"{name}_mb": each.resident_mb() for name, each in pipes.items()}
    yield Figure("mcp.bridge.resident", resident["bridge_mb"], "MB", at_most(12), None, resident)


def _on_pipes(at: Place, kind: str, taken: dict[str, list[list[float]]]) -> Iterator[Figure]:
    ours = taken["bridge"]
    fields: dict[str, Any] = {f"{name}_p50_ms": median(pooled(rounds)) for name, rounds in taken.items()}
    over_ms = median([a - b for a, b in zip(p50s(ours), p50s(taken["socket"]), strict=True)])
    fields |= {"ratio_to_socket": _ratio(ours, taken["socket"]), **_counts(ours)}
    goal = at.sizes.whole(at_most(0.2)) if kind == "call" else None
    yield Figure(f"mcp.bridge.{kind}.over_socket", over_ms, "ms", goal, None, fields)
    yield Figure(f"mcp.pipe.{kind}.to_floor", _ratio(ours, taken["floor"]), FLOOR, fields=fields)
    if "sdk" in taken:
        goal = at.sizes.whole(at_least(4)) if kind == "call" else None
        yield Figure(f"mcp.pipe.{kind}.sdk_server", _ratio(taken["sdk"], ours), "x as long", goal, None, fields)


def _starts(at: Place, servers: dict[str, list[str]]) -> Iterator[Figure]:
    """From nothing to the first answer, beside a Python that only knows it by heart."""
    starts = 1 if at.sizes.quick else STARTS
    samplers = [partial(_started_ms, servers[name], starts) for name in ("bridge", "floor")]
    bridged, floor = interleaved(at.sizes.rounds, *samplers)
    fields = {"worst_ms": max(pooled(bridged)), "floor_ms": median(pooled(floor)), "starts": len(pooled(bridged))}
    goal = at.sizes.whole(at_most(50))
    yield Figure("mcp.bridge.first_answer", median(pooled(bridged)), "ms", goal, None, fields)


def _started_ms(command: list[str], starts: int) -> list[float]:
    taken = []
    for _ in range(starts):
        started = time.perf_counter_ns()
        pipes = Pipes(command)
        pipes.ask(_INITIALIZE)
        taken.append((time.perf_counter_ns() - started) / 1e6)
        pipes.close()
    return taken


# -- with the official client --


def _over_client(at: Place, client: Client, mode: str, servers: dict[str, list[str]]) -> Iterator[Figure]:
    """The same call of all servers, in turns."""
    era = _era(mode)
    try:
        for name, command in servers.items():
            stderr = str(at.new(f"{name}.stderr"))
            started = {"command": command, "env": None, "cwd": None, "stderr": stderr, "mode": mode}
            client.request("start", CALL_S, name=name, **started)
            client.request("tools", CALL_S, name=name)
        samplers = [partial(_called, client, name, at.sizes.calls) for name in servers]
        taken = dict(zip(servers, interleaved(at.sizes.rounds, *samplers), strict=True))
        for name in servers:
            client.request("stop", CALL_S, name=name)
    except Skip as skip:
        yield Skipped(f"mcp.call.{era}", 0.0, "", reason=str(skip))
        return
    ours = taken["bridge"]
    fields = {f"{name}_p50_ms": median(pooled(rounds)) for name, rounds in taken.items()} | _counts(ours)
    whole: Callable[[Bound], Bound | None] = at.sizes.whole
    encoding = {"ratio_to_floor_encoding": _ratio(ours, taken["floor_encoding"])}
    goal, aim = whole(at_most(1.3)), whole(at_most(1.15))
    yield Figure(f"mcp.call.{era}.to_floor", _ratio(ours, taken["floor"]), FLOOR, goal, aim, fields | encoding)
    fields["floor_to_sdk_server"] = _ratio(taken["sdk"], taken["floor"])
    fields["note"] = "most of it is the client, with any server; mcp.pipe.call.sdk_server is without it"
    yield Figure(f"mcp.call.{era}.sdk_server", _ratio(taken["sdk"], ours), "x as long", None, None, fields)


def _called(client: Client, name: str, times: int) -> list[float]:
    done = client.request("call", CALL_S, name=name, tool=TOOL, arguments=[{}], times=times)
    if done["failed"]:
        raise Skip(f"{name} answers with an error: {done['answer'][:300]}")
    taken: list[float] = done["ms"]
    return taken


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures this alone, as `python -m bench` measures all."""
    parser = argparse.ArgumentParser(prog="python -m bench.mcp_calls", description="Measure calls over MCP.")
    parser.add_argument("--quick", action="store_true", help="small counts: to see that it works")
    parser.add_argument("--dir", type=Path, default=Path.cwd(), metavar="DIR", help="on the disk to measure")
    parser.add_argument("--installed", type=Path, metavar="DIR", help="install there, and keep it")
    options = parser.parse_args(arguments)
    with place(options.dir.resolve(), QUICK if options.quick else FULL) as at:
        for figure in calls(at, options.installed.resolve() if options.installed else None):
            print(figure.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
