"""`workspaced pause` and `workspaced resume`."""

import re
from typing import Any, Final

import click

from ...limits import PAUSE_S_MAX
from ..shared.connection import daemon
from ..shared.options import daemon_options, json_option
from ..shared.printing import print_json, say
from ..shared.state_text import pause_text

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_DIGITS_MAX: Final = 12


class Duration(click.ParamType[int]):
    """A duration such as 30m, 1h30m or 2d, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = _DURATION.fullmatch(value) if len(value) <= _DIGITS_MAX else None
        counts = found.groups() if found is not None else ()
        seconds = sum(int(count or 0) * unit for count, unit in zip(counts, _UNITS.values(), strict=False))
        if not 0 < seconds <= PAUSE_S_MAX:
            most = int(PAUSE_S_MAX) // _UNITS["d"]
            self.fail(
                f"expected a duration such as 45s, 30m, 1h30m or 2d, up to {most}d, got {value!r}.", param, ctx
            )
        return seconds


@click.command()
@click.option("--for", "for_s", type=Duration(), metavar="DURATION", help="End it by itself, such as after 30m.")
@daemon_options
@json_option
def pause_command(for_s: int | None, socket_path: str | None, workspace: str | None, as_json: bool) -> None:
    """Record nothing of what you do, and answer agents nothing, until `workspaced resume`.

    Editors keep what they show until then; only where they have come to is recorded, not the way there. Agents'
    calls fail with PAUSED, and prompts go on without context. The pause outlasts a restart of the daemon. Pausing
    again sets another end.
    """
    params = {"forS": for_s} if for_s is not None else {}
    _call("workspaced/pause", params, socket_path, workspace, as_json=as_json)


@click.command()
@daemon_options
@json_option
def resume_command(socket_path: str | None, workspace: str | None, as_json: bool) -> None:
    """End a pause. Without a pause it does nothing."""
    _call("workspaced/resume", {}, socket_path, workspace, as_json=as_json)


def _call(
    method: str, params: dict[str, Any], socket_path: str | None, workspace: str | None, *, as_json: bool
) -> None:
    with daemon(socket_path, workspace, write=True) as client:
        answer = client.call(method, params)
    if as_json:
        print_json(answer)
    else:
        say(pause_text(answer["paused"]))
