"""`workspaced hook`. If its arguments only name runtime and daemon, `__main__` runs the hook without this."""

from typing import Any

import click

from ..terminal.daemon import ask
from ..terminal.options import daemon_options, given
from ..terminal.output import output
from ..terminal.printing import say, say_text
from .hook import GIVE_UP_S, RUNTIMES, TIMEOUT_S_MAX, HookTarget, run

_WHY = {
    "nothingNew": "nothing changed since it was told",
    "offered": "it is being told at this moment",
    "off": "volunteering is off for this client: see `workspaced share CLIENT --volunteer on`",
    "refused": "nothing is shared with this client: see `workspaced share`",
    "otherVault": "no vault is current",
}


@click.command()
@click.argument("runtime", type=click.Choice(list(RUNTIMES)))
@click.option(
    "--vault", "vaults", multiple=True, metavar="DIR", help="Asked about where the agent works elsewhere."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, TIMEOUT_S_MAX, min_open=True),
    default=GIVE_UP_S,
    show_default=True,
    help="Seconds after which it gives up.",
)
@click.option("--show", is_flag=True, help="Show what the agent would be told at its next prompt; tell nobody.")
@daemon_options
def hook_command(runtime: str, vaults: tuple[str, ...], timeout_s: float, show: bool) -> int:
    """Answer a hook of an agent's runtime: tell the agent what changed before the user's eyes.

    The runtime runs this. It reads the hook's JSON from standard input; whatever fails, it prints nothing and
    exits with 0.

    \b
    workspaced connect claude --vault ~/notes
    workspaced hook claude --show
    """
    if not show:
        if given("json"):
            raise click.UsageError("--json goes with --show: standard output is the runtime's.")
        return run(HookTarget(runtime, vaults, given("socket"), given("workspace"), timeout_s))
    if vaults:
        raise click.UsageError("--show tells of the current vault; --vault goes without it.")
    known = RUNTIMES[runtime]

    def told(answer: dict[str, Any]) -> None:
        if answer["text"] is not None:
            say_text(answer["text"])
        else:
            say(f"{known.client} would be told nothing: {_WHY[answer['reason']]}", err=True)

    output(ask("workspaced/volunteer/preview", {"client": known.client, "form": known.form}), told)
    return 0
