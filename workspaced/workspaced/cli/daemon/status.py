"""`workspaced status` and `workspaced stop`."""

import os
from collections.abc import Iterator
from typing import Any, Final

import click

from ...discovery.records import remember_stop, running, to_wire
from ...errors import NoDaemon
from ...terminal.daemon import daemon, end
from ...terminal.options import daemon_options, given
from ...terminal.output import output
from ...terminal.printing import counted, say
from ...terminal.screen import print_labelled
from ...terminal.state_text import pause_text, unchanged_text


@click.command()
@click.option("--all", "every", is_flag=True, help="List the running daemons instead.")
@daemon_options
def status_command(every: bool) -> None:
    """What the daemon is doing, and what is degraded."""
    if every:
        found = running()
        for each in found:
            output(to_wire(each), _print_daemon)
        if not found and not given("json"):
            say("no daemon runs: `workspaced start DIR` starts one", err=True)
        return
    with daemon() as client:
        status = {"socket": str(client.path.absolute()), **client.call("workspaced/status")}
    output(status, _print_status)


def _print_daemon(of: dict[str, Any]) -> None:
    served = ", ".join(of["vaults"]) or "no vault"
    print_labelled(f"{of['workspace']:<10}", f"pid {of['pid']}, {of['socket']}, serves {served}")


def _print_status(status: dict[str, Any]) -> None:
    say(f"workspaced {status['version']}, pid {status['pid']}, up {_duration(status['uptimeS'])}")
    for label, text in _lines(status):
        print_labelled(f"{label:<10}", text, colour="yellow" if label in _TROUBLES else None)


_TROUBLES: Final = ("paused", "unchanged", "degraded", "warning")


def _lines(status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each a label, none for one that goes on, and a text."""
    log, queues, recording, traces = (status[name] for name in ("log", "queues", "recording", "traces"))
    yield "socket", status["socket"]
    yield "log", f"{log['id']} at event {status['seq']}, {log['durability']}"
    yield "clients", f"{queues['connections']}, {counted(queues['publish'], 'batch')} waiting"
    for vault in status["vaults"]:
        yield from _lines_of_vault(vault)
    for name, tool in status["tools"].items():
        if tool["calls"]:
            calls = counted(tool["calls"], "call")
            yield "tool", f"{name}: {calls}, p50 {tool['p50Us']} us, p99 {tool['p99Us']} us"
    if (paused := status.get("paused")) is not None:
        yield "paused", pause_text(paused).removeprefix("paused ")
    kept = f"{counted(recording['kept'], 'blob')}, {recording['keptBytes']} bytes kept"
    skipped = f", {counted(recording['skipped'], 'call')} without what they read" if recording["skipped"] else ""
    yield "recording", f"{recording['record']}: {kept}{skipped}"
    if unchanged := status["unchanged"]:
        yield "unchanged", f"requests to a provider: {unchanged_text(unchanged)}"
    yield from (("shared", f"{each['client']}: {each['level']}") for each in status["sharing"]["clients"])
    if status["sharing"]["default"] != "all":
        yield "shared", f"any other client: {status['sharing']['default']}"
    if (link := status.get("link")) is not None:
        machines = counted(len(link["members"]), "machine")
        yield "link", f"{link['state']}, {machines}; see `workspaced link status`"
    if traces["otlp"] is not None:
        sent = counted(traces["sent"], "span")
        yield "traces", f"{sent} sent, {traces['dropped']} dropped, to {traces['otlp']}"
    if traces["ignoredParents"]:
        yield "traces", f"{counted(traces['ignoredParents'], 'time')} a client's traceparent was nonsense"
    yield from (("degraded", problem) for problem in status["degraded"])
    yield from (("warning", warning) for warning in status["warnings"])


def _lines_of_vault(vault: dict[str, Any]) -> Iterator[tuple[str, str]]:
    marker = " (current)" if vault["current"] else ""
    index, cache = vault["index"], vault["cache"]
    yield "vault", f"{vault['id']}{marker}: {vault['path']}"
    yield "", f"{counted(index['notesFound'], 'note')}, index {index['state']}, watcher {vault['watcher']}"
    if vault["withheld"]:
        yield "", f"{counted(vault['withheld'], 'note')} withheld from agents"
    hits = f"{counted(cache['hits'], 'hit')}, {counted(cache['misses'], 'miss')}"
    yield "", f"cache {hits}, {cache['bytes']} bytes"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@click.command()
@daemon_options
def stop_command() -> None:
    """Stop the daemon in good order, and wait until it is gone. Agents' sessions that are open start none then."""
    try:
        with daemon(write=True) as client:
            stopped = {**end(client), "stopped": True}
    except NoDaemon as error:  # one that crashed may be about to be started again for an agent
        if not given("socket"):
            remember_stop(given("workspace") or os.environ.get("WORKSPACED_WORKSPACE") or "default")
        if running():
            raise
        raise NoDaemon(error.message, hint="No other runs either, so there is nothing to stop.") from None
    output(stopped, lambda _: say("stopped", err=True))
