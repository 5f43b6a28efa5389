"""`workspaced log find` and `workspaced log shrink`: where something becomes true, and the smallest such log."""

import platform
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar

import click
import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.finding.expression import Expression
from workspaced_events.finding.first_event import find_first
from workspaced_events.finding.shrink import Shrinking
from workspaced_events.ids import VaultId
from workspaced_events.projections.state_diff import changes
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.bundle import Manifest, Versions
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import Event
from workspaced_tools.replay.bundling import make_bundle, named_blobs

from ..__about__ import __version__
from ..terminal.log import open_log
from ..terminal.options import bundle_option, json_option, utc_option
from ..terminal.output import output, segment_progress, write_lines
from ..terminal.printing import say, say_text
from ..terminal.step_text import step_block


def part_of(events: list[Event], source: Source) -> Slice:
    """The few events that are left of a log, as a part of it."""
    visits = msgspec.json.encode(source.start_visits())
    part = Slice("", source.start, visits, events, source.blob, redacted=source.redacted)
    # What the log gives is read now: it closes with the search.
    part.blob = {name: source.blob(name) for name in named_blobs(part)}.get
    return part


def write_bundle(file: IO[bytes], part: Slice, *, redacted: bool, visibility: bool = False) -> Manifest:
    """Writes a part of a log as a bundle, with the versions of this program and machine.

    Raises:
        InvalidArgument: it is too large for a bundle.
        OSError: temporary files cannot be written.
    """
    of_system = f"{platform.system()} {platform.machine()}".strip()
    versions = Versions(__version__, platform.python_version(), of_system)
    return make_bundle(
        file, part, versions=versions, created=system_clock(), redacted=redacted, visibility=visibility
    )


def bundle_of(part: Slice) -> bytes:
    """A part of a log as a bundle."""
    file = BytesIO()
    write_bundle(file, part, redacted=part.redacted)
    return file.getvalue()


F = TypeVar("F", bound=Callable[..., object])


def _expression_options(function: F) -> F:
    """LOG, and what is looked for."""
    for decorate in (
        json_option,
        click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one."),
        click.option("--when", "expression", required=True, metavar="EXPR", help="JMESPath over the state."),
        click.argument("log", metavar="LOG"),
    ):
        function = decorate(function)
    return function


@click.command("find")
@_expression_options
@utc_option
def find_command(log: str, expression: str, of_vault: str | None) -> None:
    """Find the event in LOG after which EXPR is true first, of the state as `workspaced replay --json` prints it.

    \b
      workspaced log find LOG --when "activeNote.id == 'work/plan.md'"
    """
    vault = VaultId(of_vault) if of_vault is not None else None
    with open_log(log) as source, segment_progress("searching") as progress:
        found = find_first(source, Expression(expression, vault), progress=progress)
    event = found.event
    difference = changes(to_json(found.before, vault), to_json(found.after, vault))
    report = {"seq": event.seq, "time": event.time, "event": event, "changes": difference}
    output(report, lambda _: say_text(step_block(event, difference)))


@click.command("shrink")
@bundle_option
@_expression_options
def shrink_command(log: str, expression: str, of_vault: str | None, to: Path) -> None:
    """Make LOG as small as it can be while EXPR still becomes true.

    Writes a bundle of events that lead to such a state and of which none can be left out. They are numbered anew,
    behind the state that LOG begins with. What is looked for is said as for `find`.

    Ctrl-C writes the smallest that was found until then.
    """
    # Before all the work.
    if to.suffix != ".wsb":
        raise InvalidArgument(f"Expected a bundle's name, *.wsb, got {to.name!r}.", hint="Give -o such a name.")
    if not to.absolute().parent.is_dir():
        raise InvalidArgument(f"There is no directory {to.absolute().parent}.", hint="Give -o an existing one.")
    if to.exists() and Path(log).exists() and to.samefile(log):
        raise InvalidArgument(f"{to} is the log itself.", hint="Give -o another file.")
    vault = VaultId(of_vault) if of_vault is not None else None
    stopped: KeyboardInterrupt | None = None
    with open_log(log) as source:
        with segment_progress("searching") as progress:
            shrinking = Shrinking(source, Expression(expression, vault), progress=progress)
        given = shrinking.given
        try:
            shrinking.run()
        except KeyboardInterrupt as error:
            stopped = error
        left = len(shrinking.events)
        write_lines(iter([bundle_of(part_of(shrinking.events, source))]), to)
    counts = {"from": given, "to": left, "asked": shrinking.asked, "smallest": stopped is None}
    output(counts, lambda _: say(f"{given} events -> {left}", err=True))
    if stopped is not None:
        say("stopped early: a smaller log may show it too", err=True)
        raise stopped
