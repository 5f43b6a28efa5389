"""Options and arguments that commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workspaced_events.errors import LogDamaged

from ..errors import SettingsInvalid
from ..limits import CLIENT_NAME_CHARS_MAX, ON_DEMAND_IDLE_MINUTES
from .printing import say

if TYPE_CHECKING:
    from workspaced_events.blobs.durable import BlobTrouble

F = TypeVar("F", bound=Callable[..., Any])


def given(name: str) -> Any:
    """What the user gave as `socket`, `workspace`, `json` or `utc`; None where the command has no such option."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"workspaced.{name}") if context is not None else None


def _common(name: str, *declarations: str, **attributes: Any) -> Callable[[F], F]:
    """An option that means the same for every command: `given` returns its value, and no function passes it on."""

    def keep(context: click.Context, _option: click.Parameter, value: Any) -> None:
        context.meta[f"workspaced.{name}"] = value

    return click.option(*declarations, expose_value=False, callback=keep, **attributes)


def _workspaces(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The workspaces of the running daemons, for completion."""
    from ..discovery.records import running

    return [each.workspace for each in running() if each.workspace.startswith(incomplete)]


class WithList(click.Group):
    """A group whose default command is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


json_option = _common("json", "--json", is_flag=True, help="Print JSON.")
utc_option = _common("utc", "--utc", is_flag=True, help="Times in UTC instead of the local zone.")
workspace_option = _common(
    "workspace",
    "--workspace",
    metavar="NAME",
    shell_complete=_workspaces,
    help="Name of the workspace (default: default).",
)
_socket_option = _common("socket", "--socket", metavar="PATH", help="The daemon's socket.")


def daemon_options(function: F) -> F:
    """`--socket` and `--workspace`, which select the daemon, and `--json`."""
    return _socket_option(workspace_option(json_option(function)))


def _moment(_context: click.Context, _option: click.Parameter, text: str | None) -> int | str | None:
    if text is None:
        return None
    from workspaced_events.replay.position import parse_position

    return parse_position(text)


at_option = click.option(
    "--at", metavar="SEQ|TIME", callback=_moment, help="As it was after this event, or at this time."
)
bundle_option = click.option(
    "-o",
    "--output",
    "to",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="*.wsb",
)
visibility_option = click.option(
    "--with-visibility",
    is_flag=True,
    help="Keep the events that say which notes are withheld; they name private notes.",
)
vault_option = click.option(
    "--vault",
    "vaults",
    multiple=True,
    metavar="DIR",
    help=f"Start a daemon for this folder if none runs; it ends after {ON_DEMAND_IDLE_MINUTES} idle minutes.",
)


def check_client(name: str) -> None:
    """Raises UsageError: no client has such a name."""
    if not 1 <= len(name) <= CLIENT_NAME_CHARS_MAX:
        raise click.UsageError(f"--client takes a name of 1 to {CLIENT_NAME_CHARS_MAX} characters.")


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """Parses `key=value` arguments.

    Raises:
        SettingsInvalid: an argument has no `=`.
    """
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsInvalid(f"Expected key=value, got {text[:200]!r}.", hint="Such as note=work/plan.md")
        values[key] = value
    return values


def complain_of_blobs(damaged: "Sequence[BlobTrouble]") -> None:
    """Prints every damaged text of a log but the first, and raises an error for the first.

    Raises:
        LogDamaged: there is a damaged text.
    """
    for trouble in damaged[1:]:
        say(f"{trouble}.", err=True)
    if damaged:
        raise LogDamaged(
            f"{damaged[0]}.",
            hint="Restore the file from a backup. Publishing the same text again writes it anew.",
            file=damaged[0].file,
            seq=damaged[0].seq,
        )
