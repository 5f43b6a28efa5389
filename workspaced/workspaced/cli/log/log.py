"""`workspaced log`: backup, export, import, verify, show."""

import secrets
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument, LogLocked
from workspaced_events.journal.opening import check_no_erasure, read_journal
from workspaced_events.log.backup import back_up
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.log.salvage import AFTER_DAMAGE, salvage
from workspaced_events.log.scan import Scan, Sink
from workspaced_events.privacy.erasure import finish_forgetting
from workspaced_events.replay.blob_check import Examined, NamedBlobs, put_imported
from workspaced_events.replay.json_lines import export_lines, import_events, read_export
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import decode_event, encode_event

from ...__about__ import __version__
from ...client.sync_client import SyncClient
from ...discovery.own_directories import own_folder
from ..shared.call_source import directory_of_daemon
from ..shared.connection import daemon
from ..shared.options import check_visibility, complain_of_blobs, daemon_options, json_option, visibility_option
from ..shared.output import segment_progress, write_lines
from ..shared.printing import print_json, say, warn
from .find_and_shrink import find_command, shrink_command
from .search import search_command
from .what_if import what_if_command

PAGE_EVENTS = 5_000


@click.group(name="log")
def log_command() -> None:
    """The event log: the only truth, as JSON Lines."""


log_command.add_command(find_command)
log_command.add_command(shrink_command)
log_command.add_command(search_command)
log_command.add_command(what_if_command)


def data_dir_option(function: click.decorators.FC) -> click.decorators.FC:
    """`--data-dir`: read the files of a log instead of asking a daemon."""
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), metavar="D", help="Read this directory; no daemon needed."
    )(function)


@log_command.command("backup")
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the daemon's.")
@daemon_options
@json_option
def backup_command(
    to: Path, data_dir: Path | None, socket_path: str | None, workspace: str | None, as_json: bool
) -> None:
    """Copy the data directory to DIR, a new folder, while the daemon goes on, and check the copy.

    The copy is a data directory: the log up to a moment, all texts that it names, and what agents were shown.
    Exit code 4 if it does not verify; so it is where the log itself is damaged.
    """
    directory = (data_dir or directory_of_daemon(socket_path, workspace) or _data_dir(workspace)).resolve()
    to = to.resolve()
    _check_log(directory)
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
    if as_json:
        print_json({"output": str(to), "log": scan.log_id, "lastSeq": scan.tail.seq, "bytes": size})
    else:
        say(f"{to}: the log up to event {scan.tail.seq}, {max(1, size // 1024)} KiB; it verifies", err=True)


@log_command.command("export")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output.")
@click.option("--redact", is_flag=True, help="Put pseudonyms for names, paths and texts.")
@visibility_option
@data_dir_option
@daemon_options
@json_option
def export_command(
    output: Path | None,
    redact: bool,
    with_visibility: bool,
    data_dir: Path | None,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    """Print the log as JSON Lines: a header, then one event a line. With --json and -o, report what was written.

    A redacted export folds to the same state under other names. It still shows what happened when, the structure
    of folders and texts, and the length of every word; equal words stay equal.
    """
    check_visibility(redact=redact, with_visibility=with_visibility)
    make = _redacted_lines if redact else partial(export_lines, visibility=with_visibility)
    count = 0

    def lines(log_id: str, events: Iterable[Event]) -> Iterator[bytes]:
        nonlocal count
        for count, line in enumerate(make(log_id, events)):  # noqa: B007 - the first line is no event
            yield line

    if data_dir is not None:
        events: list[Event] = []
        scan = _scan(data_dir, events.extend)
        write_lines(lines(scan.log_id, events), output)
        if scan.damage is not None:
            raise scan.damage
    else:
        with daemon(socket_path, workspace) as client:
            log_id = str(client.server["clock"]).rpartition(":")[0]
            write_lines(lines(log_id, _from_daemon(client)), output)
    if as_json and output is not None:
        print_json({"output": str(output), "events": count, "redacted": redact})


def _redacted_lines(_log_id: str, events: Iterable[Event]) -> Iterator[bytes]:
    """An export under a key that is not kept. Omits the log's id, because clocks that agents saw contain it."""
    from workspaced_events.privacy.event_redaction import Redactor
    from workspaced_events.privacy.pseudonyms import KEY_BYTES, Pseudonyms
    from workspaced_tools.tools.registry import TOOLS

    argument_names = {name for tool in TOOLS.values() for name in tool.input_schema["properties"]}
    redactor = Redactor(Pseudonyms(secrets.token_bytes(KEY_BYTES)), argument_names)
    return export_lines("", map(redactor.event, events), redacted=True)


def _from_daemon(client: SyncClient) -> Iterator[Event]:
    following, last = 1, int(str(client.server["clock"]).rpartition(":")[2])
    while following <= last:
        page = client.call("workspaced/log", {"from": following, "limit": PAGE_EVENTS})["events"]
        for each in page:
            if each["seq"] > last:
                return
            yield decode_event(msgspec.json.encode(each))
        following = page[-1]["seq"] + 1


@log_command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), required=True, metavar="D", help="A new directory.")
@json_option
def import_command(file: Path, data_dir: Path, as_json: bool) -> None:
    """Make a new log of an export. FILE may be - for standard input."""
    data_dir = data_dir.absolute()
    own_folder(data_dir, "data")
    lock = LogLock(data_dir)
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as lines:
            disk = RealDisk(data_dir)
            last = import_events(disk, read_export(lines, str(file)), version=__version__, now=system_clock())
            put_imported(disk, last)
    finally:
        lock.close()
    if as_json:
        print_json({"events": last, "dataDir": str(data_dir)})
    else:
        say(f"{last} events imported into {data_dir}", err=True)


@log_command.command("verify")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the daemon's.")
@daemon_options
@json_option
def verify_command(data_dir: Path | None, socket_path: str | None, workspace: str | None, as_json: bool) -> int:
    """Check every line of the log against its checksum chain, and every text that it names against its sha256.

    Exit code 4 on damage. Works beside the daemon, whose directory it reads and does not change. That what agents
    were shown was swept is no damage.
    """
    directory = data_dir or directory_of_daemon(socket_path, workspace) or _data_dir(workspace)
    count = 0
    named = NamedBlobs()

    def sink(events: list[Event]) -> None:
        nonlocal count
        count += len(events)
        named(events)

    scan = _scan(directory, sink)
    blobs = named.examine(RealDisk(directory))
    torn = scan.torn is not None and not _in_use(directory)
    if as_json:
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
    for warning in scan.warnings:
        warn(warning)
    if scan.damage is not None:
        raise scan.damage
    for trouble in blobs.served_damaged:
        warn(f"{trouble}; the log does without it.")
    complain_of_blobs(blobs.damaged)
    if torn:
        say("The last line was never completed, so never acknowledged; the next start puts it aside.")
    say(f"{count} events in {scan.segments} segments verify, up to sequence {scan.tail.seq}.")
    _print_blobs(blobs)
    return 0


def _print_blobs(blobs: Examined) -> None:
    left = f" {blobs.not_exported} are not here: the log was made of an export." if blobs.not_exported else ""
    say(f"{blobs.whole} texts that it names are whole.{left}")
    if blobs.served or blobs.swept:
        say(f"Of what agents were shown {blobs.served} blobs are whole, {blobs.swept} were swept.")


def _blobs_json(blobs: Examined) -> dict[str, Any]:
    return {
        "blobs": {
            "named": blobs.whole + blobs.not_exported + len(blobs.damaged),
            "whole": blobs.whole,
            "notExported": blobs.not_exported,
            "damaged": msgspec.to_builtins(blobs.damaged),
        },
        "served": {
            "named": blobs.served + blobs.swept + len(blobs.served_damaged),
            "kept": blobs.served,
            "swept": blobs.swept,
            "damaged": msgspec.to_builtins(blobs.served_damaged),
        },
    }


@log_command.command("salvage")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the workspace's.")
@click.option("--workspace", metavar="NAME", help="Name of the workspace (default: default).")
@click.option("--to", type=click.Path(path_type=Path), required=True, metavar="NEW", help="A new directory.")
@json_option
def salvage_command(data_dir: Path | None, workspace: str | None, to: Path, as_json: bool) -> None:
    """Make a new log of what a damaged one still holds; the damaged one stays as it is.

    Everything before the damage becomes the new log. What verifies behind it goes to NEW/after-damage.jsonl, with
    the ranges that are lost.
    """
    directory, to = (data_dir or _data_dir(workspace)).absolute(), to.absolute()
    _check_log(directory)
    own_folder(to, "data")
    old = LogLock(directory)
    try:
        finish_forgetting(directory)
        new = LogLock(to)
        try:
            result = salvage(RealDisk(directory), RealDisk(to), version=__version__, now=system_clock())
        finally:
            new.close()
    finally:
        old.close()
    if as_json:
        print_json(
            {
                "log": result.log_id,
                "lastSeq": result.last_seq,
                "after": result.after,
                "lost": result.lost,
                "blobs": result.blobs,
                "damage": {"message": result.damage.message, **result.damage.details},
            }
        )
        return
    say(f"{result.last_seq} events before the damage are now the log in {to}.")
    if result.after:
        say(f"{result.after} events behind it verify; they are in {to / AFTER_DAMAGE}.")
    for first, last in result.lost:
        say(f"Lost: sequences {first} to {last}.")


@log_command.command("show")
@click.argument("seq", type=click.IntRange(min=1))
@data_dir_option
@daemon_options
@json_option
def show_command(
    seq: int,
    data_dir: Path | None,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,  # noqa: ARG001 - it always is
) -> None:
    """Print one event whole, as JSON."""
    shown_events: list[Any]
    if data_dir is not None:
        events: list[Event] = []
        _scan(data_dir, lambda batch: events.extend(each for each in batch if each.seq == seq))
        shown_events = [msgspec.json.decode(encode_event(each)) for each in events]
    else:
        with daemon(socket_path, workspace) as client:
            shown_events = client.call("workspaced/log", {"from": seq, "limit": 1})["events"]
    if not shown_events:
        raise InvalidArgument(f"The log holds no event {seq}.")
    print_json(shown_events[0])


def _scan(directory: Path, sink: Sink) -> Scan:
    _check_log(directory)
    with segment_progress("verifying") as progress:
        return read_journal(directory, sink, progress=progress)


def _data_dir(workspace: str | None) -> Path:
    from ...daemon.settings import load_settings
    from ..shared.log_target import check_log

    settings = load_settings(workspace=workspace)
    check_log(settings, settings.data_path)
    return settings.data_path


def _check_log(directory: Path) -> None:
    if not (directory / "log").is_dir():
        raise InvalidArgument(f"{directory} holds no log.", hint="Give the daemon's data directory.")


def _in_use(directory: Path) -> bool:
    try:
        LogLock(directory).close()
    except (LogLocked, OSError):
        return True
    return False
