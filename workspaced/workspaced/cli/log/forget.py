"""`workspaced forget`."""

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument, NotInLog
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.log.data_directory import ERASURE
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.privacy.erasure import Prepared, carry_out, finish_forgetting, prepare
from workspaced_events.replay.open import open_source
from workspaced_tools.memory.paths import parts_of
from workspaced_tools.ports.memory import MEMORY_ROOT
from workspaced_tools.replay.verify import Outcome, Verified, verify
from workspaced_tools.vault.index.database import remove_index

from ...__about__ import __version__
from ...peers.link import FOLDER as LINK_FOLDER
from ...peers.link import check_installed
from ...settings.settings import load_settings
from ...terminal.log import checked_log
from ...terminal.options import given, json_option, workspace_option
from ...terminal.output import output, print_warnings, segment_progress
from ...terminal.printing import confirm, say

if TYPE_CHECKING:
    from ...peers.forgetting import Asked

PATHS_SHOWN_MAX = 20


@click.command()
@click.argument("path")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the workspace's.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="D", help="Where the daemon keeps indexes.")
@workspace_option
@click.option("--of-vault", metavar="ID", help="The note's vault (default: the current one).")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def forget_command(
    path: str, data_dir: Path | None, cache_dir: Path | None, of_vault: str | None, yes: bool
) -> None:
    """Make the log forget the note at PATH, in its vault or below /memories. The daemon must be stopped.

    Every event that tells of it, under all its names, becomes a tombstone; recorded calls of tools that tell of
    it, its selections and texts, snapshots and the vault's index are removed. The log becomes another one: clocks
    that programs hold no longer speak of it.

    The other machines of a link are asked to forget it too, if its name ever left this one: what was shared of it
    from here goes there, and `workspaced doctor` there gives the command for their logs.

    This cannot reach: backups, exports, bundles and runs in the past made before; what other notes, and selections
    in them, say of the note; what a judgement quotes of it without its name, about an answer that did not show it;
    its file; what agents were already shown; what the disk keeps of deleted files.
    """
    settings = load_settings(workspace=given("workspace"), data_dir=data_dir, cache_dir=cache_dir)
    note = _note(path, settings.memory)
    data = checked_log(settings)
    with closing(LogLock(data)):
        warnings: list[str] = []
        was_interrupted = finish_forgetting(data, warnings)
        print_warnings(warnings)
        try:
            done, asked = _forget(data, settings.cache_path.expanduser().absolute(), note, of_vault, yes)
        except NotInLog as error:
            if not was_interrupted:
                raise
            say(f"A forgetting that was interrupted is finished now. {error.message}", err=True)
            return
        unrecorded = _remove_changed_recordings(data)
    counts = {"events": done.events, "calls": done.calls, "unrecorded": unrecorded}
    told = {} if asked is None else {"asked": asked.machines, "notReached": asked.removed}
    output({"paths": done.paths, **counts, "vault": done.vault, **told}, _print)


def _print(report: dict[str, Any]) -> None:
    say(f"{report['events']} events are forgotten, {report['calls']} of them calls of tools.")
    if report["unrecorded"]:
        say(f"{report['unrecorded']} other calls had counted it: they cannot be replayed any more.")
    if report.get("asked"):
        machines = ", ".join(report["asked"])
        say(f"Once the daemon runs, it asks {machines} too: see `workspaced link status`.")
    for origin in report.get("notReached", ()):
        say(f"The removed machine {origin} is not reached.", err=True)
    say("The note's file is as it was: while it lies in the vault it can be shown and recorded again.", err=True)


def _note(path: str, memory: Path | None) -> NoteId:
    """The note's path in the log. A path below `/memories` is one of the memory folder that `memory` sets."""
    if path.startswith(f"{MEMORY_ROOT}/"):
        is_in_vault = memory is not None and not memory.expanduser().is_absolute()
        folder = str(memory) if is_in_vault else MEMORY_ROOT
        return NoteId("/".join((folder, *parts_of(path))))
    return note_id(path)


def _forget(
    data: Path, cache: Path, note: NoteId, vault: str | None, yes: bool
) -> "tuple[Prepared, Asked | None]":
    disk = RealDisk(data)
    disk.make_directory(ERASURE)
    staging = RealDisk(data / ERASURE)
    try:
        prepared = prepare(
            disk, staging, note, VaultId(vault) if vault else None, version=__version__, now=system_clock()
        )
        if not yes:
            _ask(prepared)
        asked = _ask_others(data / LINK_FOLDER, prepared)
        # The index first, because it can be rebuilt; after the log's erasure nothing would show that it remains.
        remove_index(cache, prepared.vault_path)
        carry_out(disk, staging, prepared)
    finally:
        finish_forgetting(data)
    return prepared, asked


def _ask_others(link: Path, prepared: Prepared) -> "Asked | None":
    """Has the daemon ask the other machines of its link, once it runs."""
    if not link.exists():
        return None
    check_installed()
    from ...peers.forgetting import ask_to_forget

    try:
        return ask_to_forget(link, prepared.vault, prepared.paths)
    except (ValueError, OSError) as error:  # such a link does not run, and cannot ask
        print_warnings([f"No other machine is asked to forget it, since {link} cannot be read: {error}"])
        return None


def _remove_changed_recordings(data: Path) -> int:
    """Removes the recordings of calls that answer otherwise over the present log; returns their number.

    Recordings of calls that mentioned the note are gone already; a call that only counted it depends on a state
    that no longer exists.
    """
    changed: list[str] = []

    def collect(made: Verified) -> None:
        if made.outcome is Outcome.DIFFERENT and made.called.inputs_sha256 is not None:
            changed.append(made.called.inputs_sha256)

    with open_source(data) as source, segment_progress("verifying") as progress:
        verify(source, collect, progress=progress)
    blobs = EvictableBlobStore(data)
    blobs.tell_swept(time.time_ns())
    for name in changed:
        blobs.remove(name)
    return len(changed)


def _ask(prepared: Prepared) -> None:
    """Asks for confirmation at the terminal; aborts without it."""
    if not sys.stdin.isatty():
        raise InvalidArgument("Forgetting cannot be undone, and nobody can be asked.", hint="Give --yes.")
    say(f"The note in vault {prepared.vault} was known as", err=True)
    for path in prepared.paths[:PATHS_SHOWN_MAX]:
        say(f"  {path}", err=True)
    if (more := len(prepared.paths) - PATHS_SHOWN_MAX) > 0:
        say(f"  and {more} more", err=True)
    confirm(f"Forget {prepared.events} events, {prepared.calls} of them calls of tools? It cannot be undone.")
