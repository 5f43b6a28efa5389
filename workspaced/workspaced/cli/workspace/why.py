"""`workspaced why`."""

from typing import Any

import click

from ...terminal.daemon import ask
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
