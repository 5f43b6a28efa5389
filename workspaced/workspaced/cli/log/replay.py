"""`workspaced replay`."""

import sys
from typing import Any

import click
import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import VaultId
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.state_diff import changes
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.blob_check import NamedBlobs
from workspaced_events.replay.position import Position, also_named, feed_until, parse_position, place_until
from workspaced_events.replay.replay import replay
from workspaced_events.replay.source import DirectorySource, Source, StoredSource
from workspaced_events.schema.catalogue import Event

from ...errors import SettingsInvalid
from ..shared.log import open_log
from ..shared.options import complain_of_blobs, given, json_option, utc_option
from ..shared.output import output, print_warnings, segment_progress
from ..shared.printing import print_json, say, say_text
from ..shared.state_text import print_state
from ..shared.step_text import step_block
from .verify import verify_log


@click.command()
@click.argument("log", metavar="LOG")
@click.option(
    "--until", metavar="SEQ|TIME", help="Fold up to this event, or to the last one at or before this time."
)
@click.option("--watch", "is_watched", is_flag=True, help="Step through the events, forwards and backwards.")
@click.option("--verify", "is_verified", is_flag=True, help="Make every recorded call again and compare.")
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@utc_option
@json_option
def replay_command(log: str, until: str | None, is_watched: bool, is_verified: bool, of_vault: str | None) -> int:
    """Fold LOG without a daemon and print the state it leads to.

    LOG is a data directory, the file of an export or a bundle, or - for one on standard input. A TIME is ISO 8601,
    of UTC unless it says otherwise.

    --watch shows each event, what it changed, and the state. Not in a terminal it prints them one after the other;
    with --json as {"event", "changes"}, one a line.

    --verify runs the tool of every recorded call again, over what it read then, and compares the answers byte for
    byte. The first that differs is shown as a difference, and the exit code is 1. It is 3 where something cannot
    be compared, unless a sweep or a version explains it, and 4 where a text that the log names is damaged.
    """
    if is_watched and is_verified:
        raise SettingsInvalid("Expected --watch or --verify, got both.")
    place = parse_position(until) if until is not None else None
    vault = VaultId(of_vault) if of_vault is not None else None
    with open_log(log) as source:
        if is_verified:
            code = verify_log(source, place)
            if isinstance(source, DirectorySource):  # the others are single files with checksums
                named = NamedBlobs()
                feed_until(source, place, named)
                complain_of_blobs(named.examine(RealDisk(source.root)).damaged)
            return code
        if not is_watched:
            _print_end(source, place, vault)
        elif not given("json") and _in_terminal():
            _step(source, place, vault)
        else:
            _print_steps(source, place, vault)
    return 0


def _print_end(source: Source, until: Position | None, vault: VaultId | None) -> None:
    with segment_progress("folding") as progress:
        replayed = replay(source, until=until, progress=progress)
    print_warnings(replayed.warnings)

    def tell(state_json: StateJson) -> None:
        say(f"{replayed.events} events folded")
        print_state(msgspec.to_builtins(state_json))

    output(_state_json(replayed.state, vault), tell)


def _print_steps(source: Source, until: Position | None, vault: VaultId | None) -> None:
    state, state_json, as_json = source.start, to_json(source.start, vault), given("json")

    def print_each(events: list[Event]) -> None:
        nonlocal state, state_json
        steps: list[dict[str, Any]] = []
        for event in events:
            state, before = apply(state, event), state_json
            state_json = to_json(state, vault)
            differences = changes(before, state_json)
            if as_json:
                steps.append({"event": event, "changes": differences})
            else:
                say_text(f"{step_block(event, differences)}\n")
        print_json(*steps)

    print_warnings(feed_until(source, until, print_each))
    _state_json(state, vault)


def _step(source: StoredSource, until: Position | None, vault: VaultId | None) -> None:
    from .step_terminal import watch
    from .stepper import Stepper, Tape

    if isinstance(until, str):
        place = place_until(source, until)
        print_warnings(also_named(until, place.also))
        until = place.seq
    with segment_progress("reading") as progress:
        tape = Tape(source, vault, until=until, progress=progress)
    print_warnings(tape.warnings)
    if vault is not None:
        _state_json(tape.state(len(tape)), vault)
    watch(Stepper(tape, min(1, len(tape)) if until is None else len(tape)))


def _state_json(state: WorkspaceState, vault: VaultId | None) -> StateJson:
    if vault is not None and vault not in state.vaults and vault not in state.by_vault:
        known = ", ".join(each for each in state.vaults) or "none"
        raise InvalidArgument(f"The log holds no vault {vault!r}.", hint=f"Its vaults: {known}.")
    return to_json(state, vault)


def _in_terminal() -> bool:
    if not sys.stdout.isatty():
        return False
    from rich.console import Console

    return not Console().is_dumb_terminal
