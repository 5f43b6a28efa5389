"""`workspaced doctor`: each finding with its fix."""

import os
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from workspaced_events.clock import AHEAD_MS_MAX
from workspaced_events.errors import LogLocked, LogReadOnly, WorkspacedError
from workspaced_events.journal.opening import read_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.privacy.asked_notes import AskedNote, AskedNotes
from workspaced_events.replay.blob_check import NamedBlobs

from ...__about__ import __version__
from ...client.sync_client import SyncClient, connect
from ...connecting.connect_command import connected
from ...connecting.deny_rules import missing
from ...connecting.runtimes import RUNTIMES
from ...editor_link.lock_files import is_gone, own_locks
from ...errors import NoDaemon
from ...settings.settings import config_file, load_settings
from ...terminal.daemon import choose, daemon, record_of
from ...terminal.options import daemon_options, given
from ...terminal.output import output
from ...terminal.printing import counted, say
from ...terminal.screen import print_labelled
from ...terminal.state_text import idle_rule_text, pause_text, unchanged_text

WATCHES_MIN = 20_000


class Finding(msgspec.Struct, frozen=True):
    """The result of one check. `fix` is empty if nothing is wrong."""

    level: str
    """`ok`, `warning` or `problem`."""
    about: str
    says: str
    fix: str = ""


ok, warning, problem = partial(Finding, "ok"), partial(Finding, "warning"), partial(Finding, "problem")


@click.command()
@daemon_options
@click.option("--reconcile", is_flag=True, help="Have the daemon compare its vaults with the disk first.")
def doctor_command(reconcile: bool) -> int:
    """Look at settings, log, socket, daemon and vaults; exit code 1 if there is a problem."""
    if reconcile:
        with daemon(timeout_s=60.0) as client:
            client.call("workspaced/reconcile")
    findings = list(_examine())
    output(findings, _print)
    return 1 if any(each.level == "problem" for each in findings) else 0


def _print(findings: list[Finding]) -> None:
    colours = {"ok": "green", "warning": "yellow", "problem": "red"}
    for each in findings:
        print_labelled(f"{each.level:<8}", f"{each.about}: {each.says}", colour=colours[each.level])
        if each.fix:
            say(f"         -> {each.fix}")  # in one line, since it is pasted


def _examine() -> Iterator[Finding]:
    yield ok("version", f"workspaced {__version__}, Python {sys.version.split()[0]}")
    try:
        settings = load_settings(workspace=given("workspace"), socket=given("socket"))
    except WorkspacedError as error:
        yield problem("settings", error.message, error.hint)
        return
    yield ok("settings", f"{config_file()}{'' if config_file().exists() else ' (not there: defaults)'}")
    try:
        target = choose().socket
    except NoDaemon:
        target = settings.socket_path
    record = record_of(target)
    data = Path(record.data_dir) if record is not None else settings.data_path
    yield from _data(data)
    yield from _lock(data)
    if (data / "log").is_dir():
        yield from _log(data)
        files = sorted((data / "snapshots").glob("*.wsnap"))
        newest = f"{len(files)} kept, the newest at event {int(files[-1].stem)}" if files else ""
        yield ok("snapshot", newest or "none: the next start folds the whole log")
    yield from _socket(target.parent)
    yield from _watches()
    for path in settings.vaults:
        if not path.is_dir():
            yield problem("vault", f"{path} is no directory", "Correct `vaults` in the settings.")
    yield from _connections()
    yield from _readable_files(settings.deny)
    yield from _links()
    try:
        client = connect(target, name="doctor", timeout_s=5.0)
    except NoDaemon:
        yield warning("daemon", f"none listens on {target}", "workspaced start DIR")
        return
    except WorkspacedError as error:
        yield problem("daemon", error.message, error.hint or "workspaced stop; workspaced serve")
        return
    with client:
        yield from _daemon(client)


def _links() -> Iterator[Finding]:
    """The links of Claude Code (`workspaced ide`) that run, or were killed."""
    for path, lock in own_locks():
        if is_gone(lock):
            fix = f"rm {shlex.quote(str(path))}, or start `workspaced ide`, which removes it."
            yield warning("link of Claude Code", f"{path} is of a link that was killed", fix)
        else:
            yield ok("link of Claude Code", f"pid {lock.pid}, found in {', '.join(lock.workspace_folders)}")


def _data(directory: Path) -> Iterator[Finding]:
    if not directory.exists():
        above = next(each for each in directory.parents if each.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield ok("data", f"{directory} does not exist yet; the first start makes it")
        else:
            fix = "Set HOME, WORKSPACED_DATA_DIR or --data-dir to a folder that you may write to."
            yield problem("data", f"{directory} cannot be made: you may not write to {above}", fix)
        return
    status = directory.stat()
    if status.st_uid != os.getuid():
        yield problem("data", f"{directory} belongs to another user", "Give another --data-dir.")
    elif stat.S_IMODE(status.st_mode) & 0o077:
        yield warning("data", f"others may look into {directory}", f"chmod 700 {directory}")
    else:
        yield ok("data", str(directory))


def _lock(directory: Path) -> Iterator[Finding]:
    if not directory.exists():
        return
    try:
        LogLock(directory).close()
    except LogLocked as error:
        yield ok("lock", f"held by pid {error.details['pid'] or 'unknown'}")
    except OSError as error:
        yield problem("lock", f"cannot be taken: {error.strerror}", f"Check the permissions of {directory}.")
    else:
        yield ok("lock", "free: no daemon uses this data directory")


def _log(directory: Path) -> Iterator[Finding]:
    count = 0
    named, asked = NamedBlobs(), AskedNotes()

    def sink(events: list[Any]) -> None:
        nonlocal count
        count += len(events)
        named(events)
        asked(events)

    try:
        scan = read_journal(directory, sink)
    except LogReadOnly as error:
        yield problem("log", error.message, error.hint)
        return
    if scan.damage is not None:
        yield problem("log", scan.damage.message, scan.damage.hint)
    else:
        yield ok("log", f"{counted(count, 'event')} in {counted(scan.segments, 'segment')}: verified")
    for each in scan.warnings:
        yield warning("log", each, "Nothing needs to be done; the segments are the truth.")
    examined = named.examine(RealDisk(directory))
    for blob in examined.damaged:
        yield problem("blobs", str(blob), "Restore the file from a backup, or publish the text again.")
    for blob in examined.served_damaged:
        yield warning("blobs", str(blob), "Remove it; the log does without what agents were shown.")
    if not examined.damaged:
        yield ok("blobs", f"whole texts of the log: {examined.whole}")
    yield from map(ask_to_forget, asked.found())


def ask_to_forget(asked: AskedNote) -> Finding:
    """A note that was forgotten at another machine, and that this log names."""
    says = f"{asked.machine} asks to forget {asked.note}, which the log names"
    if asked.vault is None:
        return warning("forgetting", says, "Map its vault first: workspaced link map FOLDER NAME.")
    command = f"workspaced forget --of-vault {shlex.quote(asked.vault)} -- {_shell_word(asked.note)}"
    return warning("forgetting", says, f"workspaced stop; {command}")


def _shell_word(name: str) -> str:
    """A name that another machine has chosen, for a command that a user pastes."""
    if name.isprintable():
        return shlex.quote(name)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in name.encode()) + "'"


def _socket(directory: Path) -> Iterator[Finding]:
    try:
        status = directory.lstat()
    except FileNotFoundError:
        yield ok("socket", f"{directory} does not exist yet")
        return
    if not stat.S_ISDIR(status.st_mode):
        yield problem("socket", f"{directory} is no directory", "Remove it, or set another socket.")
    elif status.st_uid != os.getuid() or status.st_mode & 0o022:
        yield problem("socket", f"others may write to {directory}", "Put the socket into a directory of your own.")
    else:
        yield ok("socket", str(directory))


def _watches() -> Iterator[Finding]:
    limit = Path("/proc/sys/fs/inotify/max_user_watches")
    if not limit.exists():
        return
    watches = int(limit.read_text())
    if watches < WATCHES_MIN:
        yield warning(
            "watcher",
            f"the system allows {watches} watched folders",
            "sysctl fs.inotify.max_user_watches=524288 (large vaults are still reconciled without)",
        )


def _connections() -> Iterator[Finding]:
    """Findings about what `workspaced connect` has written into the settings of agents' programs."""
    for program in connected():
        for each in program.connections:
            about, where = f"connection {program.runtime}", f"{each.name} in {each.path}"
            faults = list(each.faults())
            for fault in faults:
                again = f"Mend it; or `workspaced connect {program.runtime}` with --vault DIR or --remove"
                yield warning(about, f"{where}: {fault}", again)
            if not faults:
                yield ok(about, where)


def _readable_files(denied: Sequence[str]) -> Iterator[Finding]:
    """Findings about connected programs whose own file tools may read what is withheld, for lack of rules."""
    for program in connected():
        spec = RUNTIMES[program.runtime]
        if not spec.has_deny_rules or spec.hooks is None:
            continue
        path = spec.hooks.path()
        for vault in sorted({vault for each in program.connections for vault in each.vaults}):
            if lacking := missing(path, vault, denied):
                says = f"its own file tools may read what {vault} withholds: {path} lacks {len(lacking)} rules"
                again = f"workspaced connect {program.runtime} --vault {shlex.quote(vault)}"
                yield warning(f"connection {program.runtime}", says, again)


def _daemon(client: SyncClient) -> Iterator[Finding]:
    status = client.call("workspaced/status")
    if status["version"] != __version__:
        yield warning("daemon", f"runs version {status['version']}", "workspaced stop, then start it again.")
    yield ok("daemon", f"pid {status['pid']}, event {status['seq']}")
    if (paused := status.get("paused")) is not None:
        yield warning("pause", f"the workspace is {pause_text(paused)}", "workspaced resume")
    if (link := status.get("link")) is not None and link["problem"] is None:
        behind = sum(each["behind"] for each in link["members"])
        yield ok(
            "link",
            f"{link['state']}, {counted(len(link['members']), 'machine')}, {counted(behind, 'message')} behind",
        )
        for each in link["members"]:
            if each["aheadMs"] > AHEAD_MS_MAX:
                about = f"the clock of {each['machine']} is {each['aheadMs'] // 60_000} minutes ahead"
                yield warning("link", about, "Set the clock there; until then `of=me` does not follow it.")
    if unchanged := status.get("unchanged"):
        says = f"went on to a provider without context since the daemon started: {unchanged_text(unchanged)}"
        yield warning("requests", says, "The log of `workspaced proxy` has a sentence for each.")
    for each in status.get("problems", [{"message": each, "fix": ""} for each in status["degraded"]]):
        yield problem("daemon", each["message"], each["fix"])
    for vault in status["vaults"]:
        yield from _vault(client, vault)
    if not status["vaults"]:
        yield warning("vault", "the daemon serves none", "Start it with --vault DIR.")


def _vault(client: SyncClient, vault: dict[str, Any]) -> Iterator[Finding]:
    about = f"vault {vault['id']}"
    notes = counted(vault["index"]["notesFound"], "note")
    says = f"{notes}, index {vault['index']['state']}, watcher {vault['watcher']}"
    if vault["watcher"] == "reconciling only":
        yield warning(about, says, "Changes are seen at the next reconcile; check the watch limit.")
    else:
        yield ok(about, says)
    for each in vault["warnings"]:
        fix = "Give them other names, or put the files or folders themselves there, if they should be notes."
        yield warning(about, each, fix)
    rules = client.call("workspaced/share/rules", {"vault": vault["id"]})
    for idle in rules["idleRules"]:
        yield warning(about, idle_rule_text(idle), "Correct it, unless such files are yet to come.")
    for flag in rules["unclearFlags"]:
        where = f"{flag['note']}, line {flag['line']}" if flag["line"] else flag["note"]
        says = f"{where}: {flag['says']!r} is not understood, so the note is private"
        yield warning(about, says, "Write private, on-request or all.")
