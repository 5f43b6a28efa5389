"""`workspaced link`: one workspace on several machines."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from workspaced_events.errors import InvalidArgument

from ..terminal.daemon import ask
from ..terminal.options import daemon_options, given, json_option
from ..terminal.output import output, print_table
from ..terminal.printing import print_readable_json, say, say_text
from ..terminal.screen import print_labelled

_ORIGIN_CHARS = 8
"""Of an origin's id, in lists."""


@click.group()
def link_command() -> None:
    """One workspace on several machines: agents here see what you look at there.

    The daemons exchange what is shown and pinned, sealed, over a NATS server of yours. Notes are never sent: each
    machine has the vault's files by its own means. Needs an extra: `pip install '.[nats]'` in the clone.
    """


servers_option = click.option(
    "--servers", multiple=True, metavar="URL", help="A NATS server, such as tls://host:4222. May be repeated."
)
machine_option = click.option(
    "--machine", metavar="NAME", help="What this machine is called (default: its host name)."
)


@link_command.command("new")
@servers_option
@click.option("--person", metavar="NAME", help="Who works here (default: the user's name).")
@machine_option
@click.option("--auto-approve", is_flag=True, help="Let this person's other machines join without `approve`.")
@daemon_options
def new_command(auto_approve: bool, **params: Any) -> None:
    """Make a link, and print its first invitation."""
    output(_changed("new", autoApprove=auto_approve, **params), _print_code)


@link_command.command("invite")
@click.option("--person", metavar="NAME", help="Who is invited (default: you, at another machine).")
@daemon_options
def invite_command(person: str | None) -> None:
    """Print a code with which one machine may join, within 15 minutes."""
    output(_changed("invite", person=person), _print_code)


def _print_code(answer: dict[str, Any]) -> None:
    say(answer["code"])
    say(f"for {answer['person']}, once, until {answer['expires']}; on the other machine:", err=True)
    say("  workspaced link join CODE --servers URL", err=True)


@link_command.command("join")
@click.argument("code")
@servers_option
@machine_option
@daemon_options
def join_command(**params: Any) -> None:
    """Join a link with a code of `workspaced link invite`."""
    answer = _changed("join", **params)
    output(answer, f"this machine is {answer['origin']}")
    if not given("json"):
        say("once it is approved there, `workspaced link status` shows the others here", err=True)


@link_command.command("approve")
@click.argument("origin")
@daemon_options
def approve_command(origin: str) -> None:
    """Let in the machine ORIGIN (the beginning of its id will do) that has asked to join."""
    answer = _changed("approve", origin=origin)
    output(answer, f"{answer['person']} on {answer['machine']} is in")


@link_command.command("remove")
@click.argument("origin")
@daemon_options
def remove_command(origin: str) -> None:
    """Remove the machine ORIGIN. It keeps what it has received, and gets nothing more."""
    answer = _changed("remove", origin=origin)
    output(answer, f"{answer['person']} on {answer['machine']} is removed")


@link_command.command("map")
@click.argument("folder", metavar="FOLDER")
@click.argument("name")
@click.option(
    "--replicate",
    type=click.Choice(["all", "pins", "none"]),
    default="all",
    show_default=True,
    help="What of the vault is shared.",
)
@daemon_options
def map_command(**params: Any) -> None:
    """Say that the vault in FOLDER here is the one that all machines of the link call NAME."""
    answer = _changed("map", **params)
    output(answer, _vault(answer))


@link_command.command("leave")
@daemon_options
def leave_command() -> None:
    """Leave the link: send nothing more, and forget what others shared."""
    output(_changed("leave"), "left the link")


def _changed(method: str, **params: Any) -> Any:
    return ask(f"workspaced/link/{method}", params, write=True)


@link_command.command("server-config")
@click.option("--create", metavar="URL", help="Make the stream on this server.")
@click.option(
    "--credentials",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The operator's, with --create (default: those of `[link]`).",
)
@json_option
def server_config_command(create: str | None, credentials: Path | None) -> None:
    """Print what the operator of the NATS server applies, once: the stream, and a daemon's permissions."""
    from .carrying.server_config import permissions, stream_config

    if create is not None:
        _create(create, credentials)
    config = stream_config()
    answer = {"stream": config, "permissions": permissions(), "created": create is not None}
    said = f"stream {config['name']} is on {create.rpartition('@')[2]}" if create is not None else _print_config
    output(answer, said)


def _print_config(answer: dict[str, Any]) -> None:
    print_readable_json(answer["stream"])
    say_text(
        "\nMake the stream: workspaced link server-config --create URL\n"
        "or save it as stream.json: nats stream add --config stream.json",
        err=True,
    )
    say_text(f"\nA daemon's permissions on the server:\n{json.dumps(answer['permissions'], indent=2)}", err=True)


def _create(server: str, credentials: Path | None) -> None:
    from ..settings.link import LinkSettings
    from ..settings.settings import load_settings
    from .carrying.server_config import create_stream

    link = load_settings().link.model_dump(exclude_unset=True) | {"servers": (server,)}
    if credentials is not None:
        link["credentials"] = credentials
    try:
        settings = LinkSettings.model_validate(link)
    except ValueError:
        raise InvalidArgument(
            f"No URL of a NATS server: {server[:200]!r}.", hint="Write nats://HOST:4222 or tls://HOST:4222."
        ) from None
    asyncio.run(create_stream(settings))


@link_command.command("status")
@daemon_options
def status_command() -> None:
    """Who takes part, how far behind each one is, and what is wrong."""
    link = ask("workspaced/link/status")["link"]
    output(link, "not linked" if link is None else print_link)


def print_link(link: dict[str, Any]) -> None:
    """Prints the link's part of a status."""
    print_labelled("link      ", f"{link['state']}; {', '.join(link['servers'])}")
    print_labelled("sent      ", f"message {link['sent']['n']}, {link['sent']['unsent']} unsent")
    for vault in link["vaults"]:
        print_labelled("vault     ", _vault(vault))
    if link["members"]:
        head = ("ORIGIN", "PERSON", "MACHINE", "LAST HEARD", "BEHIND")
        print_table([head, *map(_member, link["members"])], right={4})
    whose = [(f"messages of {each['machine']}", each["refused"]) for each in link["members"]]
    for name, refused in (*whose, ("rosters and requests to join", link["refused"])):
        if refused:
            reasons = ", ".join(f"{count} {code}" for code, count in sorted(refused.items()))
            print_labelled("refused   ", f"{name}: {reasons}", colour="yellow")
    for each in link["requests"]:
        who = f"{each['person']} on {each['machine']}"
        step = f"workspaced link approve {each['origin'][:_ORIGIN_CHARS]}"
        print_labelled("request   ", f"{who} asks to join: {step}", colour="yellow")
    for each in link["forgetting"]:
        waits = ", ".join(each["notReached"])
        print_labelled("forgetting", f"a note of {each['vault']}; not reached yet: {waits}")
    if (problem := link["problem"]) is not None:
        print_labelled("problem   ", f"{problem['code']}: {problem['message']} {problem['fix']}", colour="yellow")


def _vault(vault: dict[str, Any]) -> str:
    return f"{vault['vault']} is {vault['name']}, shared: {vault['replicate']}"


def _member(each: dict[str, Any]) -> tuple[str, ...]:
    name = f"{each['machine']} (this one)" if each["here"] else each["machine"]
    heard = "" if each["here"] else each["appliedAt"][:19] + "Z" if each["appliedAt"] else "never"
    behind = "" if each["here"] else f"{each['behind']}, {each['behindS']:.0f} s" if each["behind"] else "0"
    return each["origin"][:_ORIGIN_CHARS], each["person"], name, heard, behind
