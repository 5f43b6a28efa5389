"""`workspaced uninstall`: shows what of ours is on this machine, and removes it once the user agrees."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from workspaced_events.errors import LogLocked, WorkspacedError
from workspaced_events.log.lock import LogLock

from ...client.sync_client import connect
from ...connecting.plans import plan_removal
from ...connecting.runtimes import RUNTIMES
from ...connecting.settings_files import Change, backups, read_ledger
from ...connecting.writing import write
from ...demo.morning import is_changed
from ...discovery.beside import Beside, end_beside, running_beside
from ...discovery.own_files import Place, places, remove, remove_empty_folders
from ...discovery.records import Record, recorded, running
from ...editor_link.lock_files import is_gone, lock_folder, own_locks
from ...errors import SettingsInvalid, TimedOut
from ...ipc.socket_path import default_socket
from ...service_units.units import Unit, definitions, removed
from ...settings.settings import Settings, load_settings
from ...terminal.daemon import end
from ...terminal.options import given, json_option
from ...terminal.output import output
from ...terminal.printing import agreed, confirm, say, say_text, warn

_MINE: Final = frozenset({"data", "settings"})
"""What cannot be made again."""


class _Plan(NamedTuple):
    """What is to go, in this order, and what stays."""

    services: list[Unit]
    beside: list[Beside]
    """Inspectors, proxies and links of Claude Code that run."""
    daemons: list[Record]
    connections: dict[str, list[Change]]
    """By program: the changes of its settings."""
    places: list[Place]
    edited: list[Place]
    """Folders of the demo in which somebody has written: they go if the user says so of each."""
    kept: list[str]
    """What is ours or was, and stays: sentences. The last field."""

    @property
    def is_empty(self) -> bool:
        return not any(self[:-1])


@click.command()
@click.option("--keep-data", is_flag=True, help="Keep the logs, the keys of a link, and your settings.")
@click.option("--yes", is_flag=True, help="Remove what is listed, without a question.")
@click.option("--dry-run", is_flag=True, help="Only list it.")
@json_option
def uninstall_command(keep_data: bool, yes: bool, dry_run: bool) -> int:
    """Remove what workspaced has left on this machine: list it, then remove it once you agree.

    That is what `connect` and `start` wrote into settings of other programs, services, running daemons,
    inspectors, proxies and links of Claude Code, the logs with what agents were shown, indexes, sockets, and what
    the demo left. Never removed are your notes, with the memory folder, chats and `.workspacedignore` in them;
    bundles and backups that you made; and the package, which goes as it came.

    \b
    workspaced uninstall --dry-run
    workspaced uninstall --keep-data
    """
    plan = _plan(keep_data=keep_data)
    if not given("json"):
        _show(plan, asks=not yes)
    listed = _json(plan)  # with the sizes of what is there now
    wanted = not plan.is_empty and not dry_run and (yes or _agreed())
    problems = list(_carry_out(plan, ask=not yes)) if wanted else []
    answer = {**listed, "removed": wanted, "problems": problems}
    output(answer, lambda _: _say_end(plan, problems) if wanted else None)
    return 1 if problems else 0


def _agreed() -> bool:
    if given("json") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        if not given("json"):
            say("Nothing was removed: add --yes, or run it in a terminal.", err=True)
        return False
    confirm("Remove all of this?")
    return True


# -- what there is --


def _plan(*, keep_data: bool) -> _Plan:
    settings, kept = _settings()
    records = recorded()
    data = [Path(each.data_dir) for each in records] + [settings.data_path.expanduser().absolute()]
    cache = [settings.cache_dir.expanduser().absolute()] if settings.cache_dir is not None else []
    found = list(places(data, cache, default_socket("default").parent))
    if killed := tuple(path.name for path, lock in own_locks() if is_gone(lock)):
        found.append(Place("state", lock_folder(), killed, "of links of Claude Code that were killed"))
    pids = {each.pid for each in running()}
    found = [_unless_in_use(each, pids) for each in found]
    kept += dict.fromkeys(f"{path}: {each.holds}" for each in found if not each.may_go for path in each.paths)
    found = [each for each in found if each.may_go]
    demos = [each.paths[0] for each in found if each.kind == "demo"]
    found = [each for each in found if not any(each.folder.is_relative_to(demo) for demo in demos)]
    edited = [
        each
        for each in found
        if each.kind == "demo" and any(is_changed(each.paths[0] / name) for name in ("notes", "vault"))
    ]
    if keep_data:
        kept += [f"{_named(each)}: {each.holds}" for each in found if each.kind in _MINE]
    going = [each for each in found if each not in edited and not (keep_data and each.kind in _MINE)]
    connections, written = {}, read_ledger().files
    unread: set[str] = set()
    for runtime in RUNTIMES:
        changes: list[Change] = []
        for file in _files_of(runtime):
            try:
                changes += [each for each in plan_removal(runtime, only=file) if each.is_needed]
            except SettingsInvalid as error:
                if str(file) in written:
                    kept.append(f"{RUNTIMES[runtime].title}: {error.message} {error.hint}".strip())
                unread.add(str(file))
        if changes:
            connections[runtime] = changes
        files = {change.path: change.old_backup for change in changes}
        kept += [f"{path}: {file} as it was, which has changed since" for file, path in _backups(runtime, files)]
    changed = {str(change.path) for changes in connections.values() for change in changes}
    for path in written:
        if path not in changed | unread and Path(path).exists():
            kept.append(f"{path} was connected when the environment named it; set that again to have it changed")
    return _Plan(list(definitions(Path.home())), running_beside(), running(), connections, going, edited, kept)


def _unless_in_use(place: Place, pids: set[int]) -> Place:
    """The place, which is not to go if it is a log that another process writes than these daemons."""
    if place.kind != "data" or not (place.folder / "lock").exists():
        return place
    try:
        LogLock(place.folder).close()
    except LogLocked as error:
        if (pid := error.details["pid"]) not in pids:
            holds = f"the workspaced with pid {pid or 'unknown'} writes there; end it, and run this again"
            return Place("data", place.folder.parent, (place.folder.name,), holds, may_go=False)
    except OSError:
        pass  # removing it says what is wrong
    return place


def _files_of(runtime: str) -> list[Path]:
    """The files that `connect` writes: one that is broken keeps nothing in the others."""
    spec = RUNTIMES[runtime]
    return sorted({spec.servers.path(), *([spec.hooks.path()] if spec.hooks is not None else [])})


def _settings() -> tuple[Settings, list[str]]:
    """The user's settings; the default ones, and why, if they cannot be read."""
    try:
        return load_settings(), []
    except SettingsInvalid as error:
        return Settings.model_construct(), [f"folders that your settings name: {error.message}"]


def _backups(runtime: str, changed: dict[Path, Path | None]) -> Iterator[tuple[Path, Path]]:
    """The copies of settings as they were that stay, each behind its file."""
    for file in _files_of(runtime):
        for backup, _text in backups(file):
            if backup != changed.get(file):
                yield file, backup


# -- removing it --


def _carry_out(plan: _Plan, *, ask: bool) -> Iterator[str]:
    """Removes it, from what would make the rest anew to what lies still; yields what could not be."""
    for unit in plan.services:
        if failed := removed(unit, start=True):
            yield failed
    for program in plan.beside:
        try:
            end_beside(program)
        except TimedOut as error:
            yield f"{error.message} {error.hint}"
    for record in plan.daemons:
        try:
            with connect(record.socket, name="workspaced-cli", timeout_s=10.0) as client:
                end(client)
        except WorkspacedError as error:
            yield f"{error.message} {error.hint}"
    if left := running():
        yield f"A daemon still runs (pid {left[0].pid}), so nothing else was removed: end it, and run this again."
        return
    for runtime, changes in plan.connections.items():
        try:
            write(runtime, changes)
        except SettingsInvalid as error:
            yield f"{RUNTIMES[runtime].title}: {error.message} {error.hint}"
    question = "Remove {}, where somebody has written?"
    edited = [each for each in plan.edited if ask and agreed(question.format(_named(each)), default=False)]
    shown = {(each.kind, each.folder) for each in plan.places}
    now = _plan(keep_data=False).places  # daemons have written as they ended
    more = [each for each in now if each.kind == "state" or (each.kind, each.folder) in shown]
    for place in (*more, *plan.places, *edited):
        try:
            remove(place)
        except OSError as error:
            yield f"Cannot remove {error.filename}: {error.strerror}."
    remove_empty_folders(default_socket("default").parent)


# -- saying it --


def _show(plan: _Plan, *, asks: bool) -> None:
    if plan.is_empty:
        say("Nothing of workspaced is on this machine but the package.")
    for unit in plan.services:
        say(f"service   {unit.path!s}")
    for program in plan.beside:
        say(f"{program.kind:<9} pid {program.pid}, {program.about}")
    for record in plan.daemons:
        say(f"daemon    {record.workspace}, pid {record.pid}, serves {', '.join(record.vaults) or 'no vault'}")
    for runtime, changes in plan.connections.items():
        for change in changes:
            becomes = "goes" if change.after is None else "changes"
            say(f"settings  {change.path!s} of {RUNTIMES[runtime].title} {becomes}")
            say_text(change.difference())
    for place in plan.places:
        say(f"{place.kind:<9} {_named(place)} ({_size(place.size_bytes())}): {place.holds}")
    for place in plan.edited:
        what = "you are asked" if asks else "it stays, as --yes asks nothing"
        say(f"{place.kind:<9} {_named(place)}: somebody has written there; {what}")
    for line in plan.kept:
        say_text(f"stays     {line}")


def _say_end(plan: _Plan, problems: Sequence[str]) -> None:
    for problem in problems:
        warn(problem)
    if plan.connections:
        titles = ", ".join(RUNTIMES[each].title for each in plan.connections)
        say(f"Start {titles} anew: a session that is open would start a daemon again.")
    say("Remove the package as you installed it (`pip uninstall workspaced`), and what you put into your editor.")


def _named(place: Place) -> str:
    return ", ".join(map(str, place.paths[:1])) if len(place.names) == 1 else str(place.folder)


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count} bytes"


def _json(plan: _Plan) -> dict[str, Any]:
    return {
        "services": [str(each.path) for each in plan.services],
        "beside": [{"kind": each.kind, "pid": each.pid, "about": each.about} for each in plan.beside],
        "daemons": [{"workspace": each.workspace, "pid": each.pid} for each in plan.daemons],
        "settings": [
            {"runtime": runtime, "path": str(each.path), "difference": each.difference()}
            for runtime, changes in plan.connections.items()
            for each in changes
        ],
        "places": [
            {
                "kind": each.kind,
                "paths": list(map(str, each.paths)),
                "bytes": each.size_bytes(),
                "holds": each.holds,
                "asks": each in plan.edited,
            }
            for each in (*plan.places, *plan.edited)
        ],
        "kept": plan.kept,
    }
