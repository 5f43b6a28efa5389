"""`workspaced share` and `workspaced why`."""

from collections.abc import Callable
from typing import Any, Final

import click

from workspaced_events.projections.workspace_state import ANY_CLIENT, client_key

from ...hooks.hook import RUNTIMES
from ...terminal.daemon import ask, daemon
from ...terminal.options import daemon_options
from ...terminal.output import output
from ...terminal.printing import say
from ...terminal.state_text import idle_rule_text

_LEVELS = {
    "never": "withheld from every agent",
    "on-request": "shown only to agents that ask for it",
    "volunteer": "shown",
}
_SHOWN = {"nothing": "is shown nothing of it", "names": "is shown its path and title", "all": "is shown it"}


@click.command()
@click.argument("note")
@click.option("--client", metavar="NAME", help="Only what concerns this client.")
@click.option("--vault", metavar="ID", help="The vault of NOTE (default: the current one).")
@daemon_options
def why_command(note: str, client: str | None, vault: str | None) -> None:
    """Why a note is shown to agents or not.

    NOTE is its path, its file name, its title or a `[[link]]`; of a note that is withheld one of the first two.

    Says its level, each rule, flag or finding that lowers it, of a note that is shown the rules that match
    nothing, and what that comes to for each client.
    """
    output(
        ask("workspaced/share/why", {"path": note, "client": client, "vault": vault}, always_named=True), _print
    )


def _print(answer: dict[str, Any]) -> None:
    """Prints the answer of `workspaced/share/why` for people."""
    moved = f", now {answer['now']}" if answer["now"] is not None else ""
    say(f"{answer['path']}{moved}: {_LEVELS[answer['level']]}")
    for reason in answer["reasons"]:
        say(f"  {reason['level']}, {reason['kind']}: {reason['detail']}")
    for idle in answer["idleRules"]:
        say(f"  {idle_rule_text(idle)}")
    for each in answer["clients"]:
        asked = "" if each["unasked"] or each["shown"] == "nothing" else " when it asks for it"
        say(f"{each['client']} ({each['sharing']}) {_SHOWN[each['shown']]}{asked}")


LEVELS = ("all", "names", "none")


@click.command()
@click.argument("words", nargs=-1, metavar="[CLIENT [LEVEL] | accept-rules VAULT]")
@click.option(
    "--volunteer",
    type=click.Choice(["on", "selection-off", "off"]),
    help="Of CLIENT: whether it is told without asking what changed before your eyes.",
)
@daemon_options
def share_command(words: tuple[str, ...], volunteer: str | None) -> None:
    """How much a client of the tools is shown; with a LEVEL, from now on.

    \b
    all     everything but notes that are withheld from every agent
    names   paths and titles only
    none    nothing: its calls fail with SHARING_OFF

    With --volunteer: whether its hooks tell it what changed before your eyes without being asked. The levels hold
    for that, too.

    CLIENT is the name the client gives itself, or the one that `workspaced connect` has for it (claude, codex,
    gemini, cursor, vscode); '*' is every client without a level of its own. Without CLIENT: the levels of all. It
    lasts until it is set anew.

    `share accept-rules VAULT` says that a folder that lost its .workspacedignore together with most of its notes
    is meant to be as it is. `workspaced why PATH` says why a note is shown or not.
    """
    method, params = _request_of(words)
    if volunteer is not None:
        if method != "workspaced/share":
            raise click.UsageError("--volunteer belongs to `share CLIENT`.")
        params["volunteering"] = volunteer
    is_write = method == "workspaced/share/accept" or not params.keys().isdisjoint({"level", "volunteering"})
    with daemon(write=is_write, always_named=True) as connected:
        answer = connected.call(method, params)
        if method == "workspaced/share" and is_write:
            # Its name may be wrong.
            known = {client_key(each.client) for each in RUNTIMES.values()} | {ANY_CLIENT}
            seen = [each["client"] for each in connected.call("workspaced/clients")["clients"]]
            if answer["client"] not in known | set(map(client_key, seen)):
                names = ", ".join(seen) or "none"
                say(f"no client of this name was seen yet; seen: {names}", err=True)
    output(answer if words else answer["sharing"], _PRINTS[method])


def _request_of(words: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The method and parameters for the words of the command line."""
    match words:
        case ():
            return "workspaced/status", {}
        case ("accept-rules", id):
            return "workspaced/share/accept", {"vault": id}
        case ("accept-rules",):
            raise click.UsageError("Expected `share accept-rules VAULT`, got no vault.")
        case (client,):
            return "workspaced/share", {"client": _named(client)}
        case (client, level) if level in LEVELS:
            return "workspaced/share", {"client": _named(client), "level": level}
        case (_, level):
            raise click.UsageError(f"There is no level {level!r}; levels are {', '.join(LEVELS)}.")
        case _:
            raise click.UsageError("Expected CLIENT, CLIENT LEVEL or accept-rules VAULT.")


def _named(client: str) -> str:
    """The name that a program gives itself, for the name that `workspaced connect` has for it."""
    return RUNTIMES[client].client if client in RUNTIMES else client


def _print_sharing(sharing: dict[str, Any]) -> None:
    """Prints the levels for people."""
    say(f"*          {sharing['default']}{_volunteering(sharing)}")
    for each in sharing["clients"]:
        marks = [word for word in ("set", "connected") if each[word]]
        line = f"{each['client']:<10} {each['level']:<5}{_volunteering(each)} {', '.join(marks)}"
        say(line.rstrip())


def _volunteering(of: dict[str, Any]) -> str:
    """Words for a client that is not told everything without asking."""
    return "" if of["volunteering"] == "on" else f", volunteering {of['volunteering']}"


_PRINTS: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "workspaced/status": _print_sharing,
    "workspaced/share/accept": lambda of: say(f"{of['vault']}: {of['problem'] or 'the rules count as they are'}"),
    "workspaced/share": lambda of: say(f"{of['client']} {of['level']}{_volunteering(of)}"),
}
"""How the answer of each method is printed for people."""
