"""`workspaced state`, `watch`, `tools` and `call`: what there is to see of the workspace."""

import json
import os
import select
import stat
import sys
import threading
from typing import Any, Final

import click

from ...terminal.daemon import ask, daemon
from ...terminal.options import at_option, daemon_options, given, pairs, utc_option, vault_option
from ...terminal.output import output, print_warnings
from ...terminal.printing import print_readable_json, say, styled
from ...terminal.screen import columns, local_time, print_labelled
from ...terminal.state_text import print_state


@click.command()
@at_option
@utc_option
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@click.option("--of", metavar="PERSON", help="Whose, of a link: me, here, everyone or a person.")
@daemon_options
def state_command(at: int | str | None, of_vault: str | None, of: str | None) -> None:
    """What the user is looking at, folded from the log."""
    with daemon() as client:
        state = client.state(at=at, vault=of_vault, of=of)
    if "alsoAt" in state:
        from workspaced_events.replay.position import also_named

        print_warnings(also_named(str(at), state["alsoAt"]))
    output(state, print_state)


@click.command()
@click.option("--since", metavar="SEQ|CLOCK", help="Begin after this event; default: now.")
@click.option("--type", "types", multiple=True, help="Only these types; may be given several times.")
@utc_option
@daemon_options
def watch_command(since: str | None, types: tuple[str, ...]) -> None:
    """Follow events as they are recorded, until Ctrl-C or until the reader of the output ends."""
    from workspaced_events.replay.position import sequence

    seq = sequence(since) if since is not None else None
    start = since if seq is None else seq
    _end_with_reader()
    with daemon() as client:
        for notice in client.events(since=start, types=types or None):
            if notice.method == "workspaced/gap":
                say(f"events {notice.params['from']} to {notice.params['to']} were skipped", err=True)
                continue
            for event in notice.params["events"]:
                output(event, _print_event)


_WIDE_COLUMNS: Final = 100
"""A narrower terminal does without the source, then without the date."""


def _print_event(event: dict[str, Any]) -> None:
    """Prints one event, on one line where the terminal is wide enough."""
    data = event["data"]
    about = data.get("note") or data.get("to") or data.get("tool") or ""
    time, width = local_time(event["time"]), columns()
    if width is None or width >= _WIDE_COLUMNS:
        source, type_ = event["source"], event["type"]
        say(f"{event['seq']:>8} {time} {source:<12} {type_:<24} {about}".rstrip())
        return
    clock = time.partition(" ")[2]
    print_labelled(f"{event['seq']:>6} {clock}", f"{event['type']} {about}".rstrip())


def _end_with_reader() -> None:
    """Has the process end with exit code 0 as soon as nobody reads the pipe or socket on standard output.

    Without this a command that waits for something to print would notice only at its next line.
    """
    try:
        descriptor = sys.stdout.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()


def _wait(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported
    if any(events & (select.POLLERR | select.POLLHUP) for _descriptor, events in poll.poll()):
        os._exit(0)


@click.command()
@daemon_options
def tools_command() -> None:
    """List the tools agents may call."""
    output(ask("tools/list")["tools"], _print_tools)


def _print_tools(tools: list[dict[str, Any]]) -> None:
    from workspaced_tools.tools.registry import EVERY_TOOL

    for tool in tools:
        say(styled(tool["name"], bold=True))
        print_labelled(" ", tool["description"])
        schema_shown = EVERY_TOOL[tool["name"]].input_schema  # the listed one is shorter
        required = schema_shown.get("required", [])
        for name, schema in schema_shown["properties"].items():
            must = " (required)" if name in required else f" = {json.dumps(schema.get('default'))}"
            print_labelled("  ", f"{name}{must}: {schema.get('description', '')}")


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of the tools, for completion."""
    from workspaced_tools.tools.registry import EVERY_TOOL

    return [name for name in EVERY_TOOL if name.startswith(incomplete)]


@click.command()
@click.argument("tool", shell_complete=_names)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@at_option
@click.option("--log", metavar="LOG", help="Answer from this log, without a daemon: at its end, or at --at.")
@vault_option
@daemon_options
def call_command(
    tool: str, arguments: tuple[str, ...], at: int | str | None, log: str | None, vaults: tuple[str, ...]
) -> int:
    """Call a tool as an agent would; exit code 1 when its answer is a failure.

    \b
    workspaced call get_current_note includeOutline=true
    workspaced call get_note_by_reference reference='[[Kitchen budget#Why it went up]]' from=Home.md
    workspaced call get_workspace_context --at 2026-03-01T12:00:00Z
    workspaced call get_current_note --log bug.wsb --at 120

    LOG is a data directory, an export, a bundle, or - for standard input. With it the answer comes from the log
    and from what calls read, for a client that is shown all.
    """
    texts, moment = pairs(arguments), {} if at is None else {"at": at}
    if log is not None:
        if vaults or given("socket") or given("workspace"):
            raise click.UsageError("--log needs no daemon: leave --vault, --socket and --workspace out.")
        result = _of_log(log, tool, texts, moment)
    else:
        with daemon(vaults=vaults, timeout_s=30.0) as client:
            typed = _typed(client.call("tools/list")["tools"], tool, texts)
            result = client.tool(tool, {**typed, **moment})
    output(result, print_readable_json)
    if result["success"]:
        return 0
    return 2 if result.get("code") in ("INVALID_ARGUMENT", "OUTSIDE_VAULT") else 1


def _of_log(log: str, tool: str, texts: dict[str, str], moment: dict[str, Any]) -> dict[str, Any]:
    from workspaced_tools.tools.registry import TOOLS

    from ... import replay

    typed = _typed([each.definition for each in TOOLS.values()], tool, texts)
    arguments = {**typed, **moment}
    with replay.open(sys.stdin.buffer if log == "-" else log) as opened:
        place = opened.at(arguments.pop("at")) if "at" in arguments else opened.end
        return place.call(tool, **arguments)


def _typed(tools: list[dict[str, Any]], name: str, texts: dict[str, str]) -> dict[str, Any]:
    """Converts the texts by the tool's schema; sends invalid ones as text, for the tool to refuse."""
    properties: dict[str, Any] = next(
        (tool["inputSchema"]["properties"] for tool in tools if tool["name"] == name), {}
    )
    return {key: _value(properties.get(key, {}), text) for key, text in texts.items()}


def _value(schema: dict[str, Any], text: str) -> Any:
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
