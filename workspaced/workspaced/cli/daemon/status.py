"""`workspaced status` and `workspaced stop`."""

import os
from typing import Any

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
    print_labelled("socket    ", status["socket"])
    log = status["log"]
    print_labelled("log       ", f"{log['id']} at event {status['seq']}, {log['durability']}")
    print_labelled(
        "clients   ", f"{status['queues']['connections']}, {counted(status['queues']['publish'], 'batch')} waiting"
    )
    for vault in status["vaults"]:
        _print_vault(vault)
    for name, tool in status["tools"].items():
        if tool["calls"]:
            print_labelled(
                "tool      ",
                f"{name}: {counted(tool['calls'], 'call')}, p50 {tool['p50Us']} us, p99 {tool['p99Us']} us",
            )
    if (paused := status.get("paused")) is not None:
        print_labelled("paused    ", pause_text(paused).removeprefix("paused "), colour="yellow")
    recording = status["recording"]
    kept = f"{counted(recording['kept'], 'blob')}, {recording['keptBytes']} bytes kept"
    skipped = f", {counted(recording['skipped'], 'call')} without what they read" if recording["skipped"] else ""
    print_labelled("recording ", f"{recording['record']}: {kept}{skipped}")
    if unchanged := status["unchanged"]:
        print_labelled("unchanged ", f"requests to a provider: {unchanged_text(unchanged)}", colour="yellow")
    for each in status["sharing"]["clients"]:
        print_labelled("shared    ", f"{each['client']}: {each['level']}")
    if status["sharing"]["default"] != "all":
        print_labelled("shared    ", f"any other client: {status['sharing']['default']}")
    if (link := status.get("link")) is not None:
        machines = counted(len(link["members"]), "machine")
        print_labelled("link      ", f"{link['state']}, {machines}; see `workspaced link status`")
    _print_traces(status["traces"])
    for problem in status["degraded"]:
        print_labelled("degraded  ", problem, colour="yellow")
    for warning in status["warnings"]:
        print_labelled("warning   ", warning, colour="yellow")


def _print_vault(vault: dict[str, Any]) -> None:
    marker = " (current)" if vault["current"] else ""
    index, cache = vault["index"], vault["cache"]
    print_labelled("vault     ", f"{vault['id']}{marker}: {vault['path']}")
    print_labelled(
        " " * 10, f"{counted(index['notesFound'], 'note')}, index {index['state']}, watcher {vault['watcher']}"
    )
    if vault["withheld"]:
        print_labelled(" " * 10, f"{counted(vault['withheld'], 'note')} withheld from agents")
    print_labelled(
        " " * 10,
        f"cache {counted(cache['hits'], 'hit')}, {counted(cache['misses'], 'miss')}, {cache['bytes']} bytes",
    )


def _print_traces(traces: dict[str, Any]) -> None:
    if traces["otlp"] is not None:
        print_labelled(
            "traces    ",
            f"{counted(traces['sent'], 'span')} sent, {traces['dropped']} dropped, to {traces['otlp']}",
        )
    if traces["ignoredParents"]:
        print_labelled(
            "traces    ", f"{counted(traces['ignoredParents'], 'time')} a client's traceparent was nonsense"
        )


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
