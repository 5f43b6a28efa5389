"""`workspaced tools` and `workspaced call`."""

import json
import sys
from typing import Any

import click

from ...terminal.daemon import ask, daemon
from ...terminal.options import at_option, daemon_options, given, pairs, vault_option
from ...terminal.output import output
from ...terminal.printing import print_readable_json, say, styled
from ...terminal.screen import print_labelled


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
    tool: str,
    arguments: tuple[str, ...],
    at: int | str | None,
    log: str | None,
    vaults: tuple[str, ...],
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
