"""`workspaced pause` and `workspaced resume`."""

import re
from typing import Any, Final

import click

from ..limits import PAUSE_S_MAX
from ..terminal.daemon import ask
from ..terminal.options import daemon_options
from ..terminal.output import output
from ..terminal.state_text import pause_text

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
def pause_command(for_s: int | None) -> None:
    """Record nothing of what you do, and answer agents nothing, until `workspaced resume`.

    Editors keep what they show until then; only where they have come to is recorded, not the way there. Agents'
    calls fail with PAUSED, and prompts go on without context. The pause outlasts a restart of the daemon. Pausing
    again sets another end.
    """
    _tell(ask("workspaced/pause", {"forS": for_s}, write=True))


@click.command()
@daemon_options
def resume_command() -> None:
    """End a pause. Without a pause it does nothing."""
    _tell(ask("workspaced/resume", write=True))


def _tell(answer: dict[str, Any]) -> None:
    output(answer, pause_text(answer["paused"]))
