"""`workspaced log`: backup, export, find, shrink, verify, salvage, search, show."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument, LogDamaged, LogLocked
from workspaced_events.journal.opening import check_no_erasure, read_journal
from workspaced_events.log.backup import back_up
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.log.salvage import AFTER_DAMAGE, salvage
from workspaced_events.log.scan import Scan, Sink
from workspaced_events.privacy.erasure import finish_forgetting
from workspaced_events.replay.blob_check import Examined, NamedBlobs
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema.catalogue import Event, Lane

from ...__about__ import __version__
from ...discovery.own_files import own_folder
from ...finding.command import find_command, shrink_command
from ...settings.settings import load_settings
from ...terminal.log import checked_log, log_directory
from ...terminal.options import (
    complain_of_blobs,
    daemon_options,
    given,
    json_option,
    utc_option,
    visibility_option,
    workspace_option,
)
from ...terminal.output import output, print_warnings, segment_progress, write_lines
from ...terminal.printing import counted, print_json, say, styled, warn
from ...terminal.screen import local_time

if TYPE_CHECKING:
    from ...inspector.inspected import Inspected
    from ...inspector.views.texts import TextHit, Texts

_LIMIT: Final = 50
_WORDS: Final = {"messages": "messages sent", "told": "told without asking"}
"""Places whose names in the answer do not say enough."""


@click.command("search")
@click.argument("text")
@click.argument("log", required=False, metavar="[LOG]")
@click.option(
    "--in", "lanes", multiple=True, type=click.Choice(get_args(Lane)), help="Only there; may be repeated."
)
@click.option("--from", "since", type=click.IntRange(min=1), metavar="SEQ", help="Only from this event on.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="The first N events.",
)
@utc_option
@daemon_options
def search_command(text: str, log: str | None, lanes: tuple[str, ...], since: int | None, limit: int) -> int:
    """Find TEXT in events, messages, calls, prompts and what agents were told; the earliest event first.

    Prompts are searched as they were sent, calls as they were answered; upper and lower case are the same.
    LOG is a data directory, an export, a bundle, or - for standard input; without it that of the running daemon
    is read, or where none runs the workspace's own. Exit code 1 where TEXT stands nowhere.

    \b
    workspaced log search 'Release 1 comes on 22 June' --in prompts
    """
    from ...inspector.inspected import viewed_log

    hits, not_kept, following = 0, 0, None
    with viewed_log(log) as inspected:
        for found in _read(inspected, text, ",".join(lanes), since, limit):
            for hit in found.hits:
                output(hit, _print_found)
            hits, not_kept, following = hits + len(found.hits), not_kept + found.not_kept, found.next
    if not_kept:
        say(f"{not_kept} recordings are not kept, so they were not searched", err=True)
    if following is not None:
        say(f"there may be more: add --from {following}", err=True)
    elif not hits:
        say("it stands nowhere here", err=True)
    return 0 if hits else 1


def _read(inspected: "Inspected", text: str, lanes: str, since: int | None, limit: int) -> Iterator["Texts"]:
    """The answers of the page's search, until there are `limit` hits or the log ends."""
    from ...inspector.views.texts import HITS_MAX, TextsParameters, texts

    while True:
        wanted = TextsParameters(text, from_=since, lanes=lanes, limit=min(limit, HITS_MAX))
        found = texts(inspected, wanted)
        yield found
        since, limit = found.next, limit - len(found.hits)
        if since is None or limit == 0:
            return


def _print_found(hit: "TextHit") -> None:
    row, where = hit.row, _WORDS.get(hit.where, hit.where)
    times = f", {hit.times} times" if hit.times > 1 else ""
    block = f" {hit.block}" if hit.block else ""
    about = f" {row.type} {local_time(row.time)} {row.who}: {where}{block}{times}"
    say(styled(str(row.seq), bold=True), about)
    say(f"    {hit.before}", styled(hit.found, fg="yellow", bold=True), hit.after)


@click.group(name="log")
def log_command() -> None:
    """The event log: the only truth, as JSON Lines."""


for _command in (find_command, shrink_command, search_command):
    log_command.add_command(_command)


data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), metavar="D", help="Read this directory; no daemon needed."
)


@log_command.command("backup")
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the daemon's.")
@daemon_options
def backup_command(to: Path, data_dir: Path | None) -> None:
    """Copy the data directory to DIR, a new folder, while the daemon goes on, and check the copy.

    The copy is a data directory: the log up to a moment, all texts that it names, and what agents were shown.
    Exit code 4 if it does not verify; so it is where the log itself is damaged.
    """
    directory, to = DirectorySource(data_dir or log_directory()).root.resolve(), to.resolve()
    if to.is_relative_to(directory) or (to.exists() and (not to.is_dir() or any(to.iterdir()))):
        raise InvalidArgument(f"{to} is no new folder.", hint="Give one that does not exist, outside the log's.")
    check_no_erasure(directory)
    own_folder(to, "data")
    size = back_up(directory, to)
    named = NamedBlobs()
    scan = _scan(to, named)
    if scan.damage is not None:
        raise scan.damage
    complain_of_blobs(named.examine(RealDisk(to)).damaged)
    report = {"output": str(to), "log": scan.log_id, "lastSeq": scan.tail.seq, "bytes": size}
    line = f"{to}: the log up to event {scan.tail.seq}, {max(1, size // 1024)} KiB; it verifies"
    output(report, lambda _: say(line, err=True))


@log_command.command("export")
@click.option(
    "-o", "--output", "to", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output."
)
@visibility_option
@data_dir_option
@daemon_options
def export_command(to: Path | None, with_visibility: bool, data_dir: Path | None) -> None:
    """Print the log as JSON Lines: a header, then one event a line. With --json and -o, tell what was written."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for count, line in enumerate(export_lines(log_id, events, visibility=with_visibility)):  # noqa: B007 - the first line is no event
            yield line

    log_id, events, damage = _events(data_dir)
    write_lines(lines(), to)
    if damage is not None:
        raise damage
    if given("json") and to is not None:
        print_json({"output": str(to), "events": count})


def _events(data_dir: Path | None) -> tuple[str, IndexedEvents, LogDamaged | None]:
    """The id of a log and its events before a damage."""
    source = DirectorySource(data_dir or log_directory())
    with segment_progress("verifying") as progress:
        index = source.index(progress)
    return source.log_id, IndexedEvents(index, source.start.seq), index.damage


@log_command.command("verify")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the daemon's.")
@daemon_options
def verify_command(data_dir: Path | None) -> int:
    """Check every line of the log against its checksum chain, and every text that it names against its sha256.

    Exit code 4 on damage. Works beside the daemon, whose directory it reads and does not change. That what agents
    were shown was swept is no damage.
    """
    directory = DirectorySource(data_dir or log_directory()).root
    count = 0
    named = NamedBlobs()

    def sink(events: list[Event]) -> None:
        nonlocal count
        count += len(events)
        named(events)

    scan = _scan(directory, sink)
    blobs = named.examine(RealDisk(directory))
    torn = scan.torn is not None and not _in_use(directory)
    if given("json"):
        damage = scan.damage
        print_json(
            {
                "ok": damage is None and not blobs.damaged,
                "log": scan.log_id,
                "segments": scan.segments,
                "events": count,
                "lastSeq": scan.tail.seq,
                "tornTail": torn,
                "damage": {"message": damage.message, "hint": damage.hint, **damage.details} if damage else None,
                "warnings": scan.warnings,
                **_blobs_json(blobs),
            }
        )
        return 4 if damage or blobs.damaged else 0
    print_warnings(scan.warnings)
    if scan.damage is not None:
        raise scan.damage
    for trouble in blobs.served_damaged:
        warn(f"{trouble}; the log does without it.")
    complain_of_blobs(blobs.damaged)
    if torn:
        say("The last line was never completed, so never acknowledged; the next start puts it aside.")
    events = f"{counted(count, 'event')} in {counted(scan.segments, 'segment')}"
    say(f"{events}, up to sequence {scan.tail.seq}: verified.")
    say(f"{blobs.whole} texts that it names are whole.")
    if blobs.served or blobs.swept:
        say(f"Of what agents were shown {blobs.served} blobs are whole, {blobs.swept} were swept.")
    return 0


def _blobs_json(blobs: Examined) -> dict[str, Any]:
    return {
        "blobs": {"named": blobs.whole + len(blobs.damaged), "whole": blobs.whole, "damaged": blobs.damaged},
        "served": {
            "named": blobs.served + blobs.swept + len(blobs.served_damaged),
            "kept": blobs.served,
            "swept": blobs.swept,
            "damaged": blobs.served_damaged,
        },
    }


@log_command.command("salvage")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the workspace's.")
@workspace_option
@click.option("--to", type=click.Path(path_type=Path), required=True, metavar="NEW", help="A new directory.")
@json_option
def salvage_command(data_dir: Path | None, to: Path) -> None:
    """Make a new log of what a damaged one still holds; the damaged one stays as it is.

    Everything before the damage becomes the new log. What verifies behind it goes to NEW/after-damage.jsonl, with
    the ranges that are lost.
    """
    directory = checked_log(load_settings(workspace=given("workspace"), data_dir=data_dir))
    to = to.absolute()
    own_folder(to, "data")
    with closing(LogLock(directory)):
        finish_forgetting(directory)
        with closing(LogLock(to)):
            result = salvage(RealDisk(directory), RealDisk(to), version=__version__, now=system_clock())
    report = {
        "log": result.log_id,
        "lastSeq": result.last_seq,
        "after": result.after,
        "lost": result.lost,
        "blobs": result.blobs,
        "damage": {"message": result.damage.message, **result.damage.details},
    }

    def tell(_: object) -> None:
        say(f"{result.last_seq} events before the damage are now the log in {to}.")
        if result.after:
            say(f"{result.after} events behind it verify; they are in {to / AFTER_DAMAGE}.")
        for first, last in result.lost:
            say(f"Lost: sequences {first} to {last}.")

    output(report, tell)


@log_command.command("show")
@click.argument("seq", type=click.IntRange(min=1))
@data_dir_option
@daemon_options
def show_command(seq: int, data_dir: Path | None) -> None:
    """Print one event whole, as JSON."""
    _, events, _ = _events(data_dir)
    event = next(events.of_types(None, after=seq - 1, before=seq + 1), None)
    if event is None:
        raise InvalidArgument(f"The log holds no event {seq}.")
    print_json(event)


def _scan(directory: Path, sink: Sink) -> Scan:
    with segment_progress("verifying") as progress:
        return read_journal(directory, sink, progress=progress)


def _in_use(directory: Path) -> bool:
    try:
        LogLock(directory).close()
    except (LogLocked, OSError):
        return True
    return False
