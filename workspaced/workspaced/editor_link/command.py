"""`workspaced ide`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..discovery.beside import noted
from ..errors import SettingsInvalid
from ..limits import ON_DEMAND_IDLE_MINUTES
from ..terminal.daemon import daemon
from ..terminal.options import check_client, daemon_options
from ..terminal.output import output
from ..terminal.printing import log_to_stderr, say
from .server import run_link


@click.command()
@click.option(
    "--vault",
    metavar="DIR",
    help="The folder of the notes that are told of. If no daemon serves it, one is started; "
    f"it ends after {ON_DEMAND_IDLE_MINUTES} idle minutes. Default: the daemon's only one, or the current one.",
)
@click.option(
    "--folder",
    "folders",
    multiple=True,
    metavar="DIR",
    help="Where Claude Code works besides, such as a repository. Can be repeated.",
)
@click.option(
    "--client",
    default="claude-code",
    show_default=True,
    metavar="NAME",
    help="The name whose sharing level and volunteering count.",
)
@daemon_options
def ide_command(vault: str | None, folders: tuple[str, ...], client: str) -> int:
    """Be the editor that Claude Code in a terminal connects to, until Ctrl-C.

    Claude then has the note that you look at, and what is selected in it, from any editor that publishes. In the
    vault's folder it connects by `/ide` or `claude --ide`. What it is told is what it may be told without asking
    (`workspaced share claude-code`), and is in the log.

    \b
    workspaced ide
    workspaced ide --vault ~/notes --folder ~/src/project
    """
    check_client(client)
    others = [_folder(each) for each in folders]
    with daemon(vaults=[vault] if vault is not None else []) as connected:
        notes = _vault(connected.server["vaults"], vault)
        socket = connected.path
    every = tuple(dict.fromkeys([notes, *others]))

    def tell(link: dict[str, Any]) -> None:
        say(f"Claude Code finds this link in {', '.join(every)}: type /ide there.")
        say(f"or start it with CLAUDE_CODE_SSE_PORT={link['port']} ENABLE_IDE_INTEGRATION=true")

    def ready(port: int, lock: Path) -> None:
        output({"port": port, "lock": str(lock), "folders": every, "pid": os.getpid()}, tell)

    log_to_stderr()
    with noted("ide", f"tells Claude Code of {notes}"):
        return run_link(socket, client, every, ready)


def _folder(given: str) -> str:
    path = Path(given).expanduser().resolve()
    if not path.is_dir():
        raise SettingsInvalid(f"{given} is no folder.", hint="Give the folder in which you start claude.")
    return str(path)


def _vault(served: Sequence[dict[str, Any]], given: str | None) -> str:
    """The folder of the notes."""
    paths: list[str] = [each["path"] for each in served]
    wanted = Path(given).expanduser().resolve() if given is not None else Path.cwd()
    holding = [path for path in paths if wanted.is_relative_to(path)]
    if not holding and given is None and len(paths) == 1:
        return paths[0]
    if not holding:
        raise SettingsInvalid(
            f"The daemon does not serve {given}."
            if given is not None
            else "Several folders may be meant, or none.",
            hint=f"Give one of its folders as --vault: {', '.join(paths) or 'it serves none'}.",
        )
    return max(holding, key=len)
