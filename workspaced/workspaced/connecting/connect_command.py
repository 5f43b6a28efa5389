"""`workspaced connect`: writes MCP entries and hooks into the settings of agents' programs, and takes them out.

Without a program it lists them: what connects them, and when the daemons last heard of each.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import click

from workspaced_events.errors import WorkspacedError

from ..client.sync_client import connect
from ..discovery.records import running
from ..errors import SettingsInvalid
from ..settings.settings import load_settings
from ..terminal.options import given, json_option, utc_option
from ..terminal.output import output, print_table
from ..terminal.printing import say, say_text, warn
from ..terminal.screen import local_time
from . import hooks, json_text, servers
from .command_lines import OwnCommand, absolute, is_folder
from .deny_rules import wanted
from .json_text import Unmergeable
from .plans import check_is_read, plan_connection, plan_removal
from .runtimes import RUNTIMES, Runtime
from .settings_files import Change, read
from .writing import write

Part = Literal["mcp", "hook"]


class Connection(NamedTuple):
    """An MCP entry of ours, or a folder's hooks."""

    part: Part
    path: Path
    """The settings file."""
    name: str
    """Of the entry; of the hooks' events."""
    command: OwnCommand

    @property
    def vaults(self) -> tuple[str, ...]:
        return self.command.target.vaults

    def faults(self) -> Iterator[str]:
        """Why it cannot work: what it names is no longer there."""
        program = self.command.program[0]
        if shutil.which(program) is None:
            yield f"the command {program} does not exist"
        for vault in self.vaults:
            if not is_folder(vault):
                yield f"the folder {vault} does not exist"


class Connected(NamedTuple):
    """What is known of a program without asking a daemon."""

    runtime: str
    is_installed: bool
    connections: tuple[Connection, ...]
    problems: tuple[str, ...]
    """Why a file's entries are not known."""


def connected() -> list[Connected]:
    """Every program, in the order of `RUNTIMES`."""
    return [_of(runtime, spec) for runtime, spec in RUNTIMES.items()]


def _of(runtime: str, spec: Runtime) -> Connected:
    connections: list[Connection] = []
    problems: list[str] = []
    places = [(spec.servers.path(), _servers), *([(spec.hooks.path(), _hooks)] if spec.hooks is not None else [])]
    for path, find in places:
        try:
            text = read(path) or ""
            check_is_read(spec, path, text)
            connections += find(spec, path, text)
        except Unmergeable as error:
            problems.append(f"{path} {error}.")
        except SettingsInvalid as error:
            problems.append(error.message)
    return Connected(runtime, is_installed(spec), tuple(connections), tuple(problems))


def is_installed(spec: Runtime) -> bool:
    """Whether one of its commands is on PATH, or its folder holds more than what we wrote."""
    if any(map(shutil.which, spec.programs)):
        return True
    ours = {spec.servers.path(), *([spec.hooks.path()] if spec.hooks is not None else [])}
    try:
        return any(path not in ours for path in spec.home().iterdir())
    except OSError:
        return False


def _servers(spec: Runtime, path: Path, text: str) -> list[Connection]:
    found = servers.find(spec.servers, servers.parse(spec.servers, text))
    return [Connection("mcp", path, _printable(each.name), each.command) for each in found]


def _hooks(spec: Runtime, path: Path, text: str) -> list[Connection]:
    assert spec.hooks is not None
    found = hooks.find(spec.hooks, json_text.parse(text))
    lines = {each.line: each.command for each in found}
    events = {line: ", ".join(each.event for each in found if each.line == line) for line in lines}
    return [Connection("hook", path, _printable(events[line]), command) for line, command in lines.items()]


def _printable(text: str) -> str:
    """The text, whatever JSON's escapes made of it."""
    return text.encode("utf-8", "backslashreplace").decode()


_ASK_S: Final = 5.0
_KINDS: Final[dict[Part, str]] = {"mcp": "lastCall", "hook": "lastVolunteered"}
"""The field of `workspaced/clients` that tells of a part."""
_Row = tuple[str, str, str, str, str, str, str]


@click.command()
@click.argument("runtime", type=click.Choice(list(RUNTIMES)), required=False)
@click.option("--vault", metavar="DIR", help="The folder of notes to connect.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--remove", is_flag=True, help="Take out what connects the folder; without --vault, every folder.")
@utc_option
@json_option
def connect_command(runtime: str | None, vault: str | None, dry_run: bool, remove: bool) -> None:
    """Connect an agent's program with a folder of notes. Without a program: list them, and what is connected.

    Its settings get an MCP entry, so that it can ask; those of claude, codex, gemini and cursor hooks, by which
    it is told what changed; those of claude get rules against reading what `.workspacedignore` and the setting
    `deny` withhold, because its own file tools know nothing of them.

    Its settings keep whatever else they hold, and a file that is changed for the first time is kept beside as it
    was. A file with comments is not changed: the command prints what to put in.

    \b
    workspaced connect claude --vault ~/notes
    workspaced connect claude --vault ~/notes --remove
    """
    if runtime is None:
        if vault is not None or dry_run or remove:
            raise click.UsageError(f"Name the program: {', '.join(RUNTIMES)}.")
        # Daemons that do not run are not started: what they would know is unknown.
        programs, arrivals = connected(), _arrivals()
        known = {"arrivalsKnown": arrivals is not None, "programs": [_json(each, arrivals) for each in programs]}
        output(known, lambda _: _print(programs, arrivals))
        return
    if remove:
        changes, unneeded = plan_removal(runtime, vault), "holds nothing of ours to take out"
    elif vault is None:
        raise click.UsageError("Give the folder to connect: --vault DIR.")
    else:
        if not is_folder(vault):
            raise SettingsInvalid(f"{vault} is no folder.", hint="Give the folder of your notes: --vault DIR.")
        if not os.access(absolute(vault), os.R_OK | os.X_OK):
            raise SettingsInvalid(f"{vault} cannot be read.", hint="Check its permissions.")
        denied = load_settings().deny
        changes, unneeded = plan_connection(runtime, vault, denied=denied), "has it already"
    results = apply(runtime, changes, dry_run=dry_run, unneeded=unneeded)
    next_step = RUNTIMES[runtime].next_step if not remove else ""
    remarks = [] if vault is None or remove else list(remarks_on(runtime, vault, denied))
    answer = {"runtime": runtime, "files": results, "remarks": remarks}
    output(answer, lambda _: start_anew(runtime, results, next_step))
    for remark in remarks if not given("json") else ():
        warn(remark)


def remarks_on(runtime: str, vault: str, denied: Sequence[str]) -> Iterator[str]:
    """What connecting a program with a vault does not do, and its user may expect."""
    spec = RUNTIMES[runtime]
    if not is_installed(spec):
        looked = ", ".join(spec.programs)
        yield f"{spec.title} was not found here (no command {looked}, no folder {spec.home()!s})."
    if not spec.has_deny_rules and wanted(vault, denied):
        yield f"{spec.title} can read withheld notes with its own file tools: we know no rules of it against that."


def start_anew(runtime: str, files: Sequence[dict[str, Any]], next_step: str = "") -> None:
    """Says what the user does after files of a program were written."""
    if any(each["written"] for each in files):
        say(f"Start {RUNTIMES[runtime].title} anew to see it.", err=True)
        if next_step:
            say(next_step, err=True)


def apply(
    runtime: str, changes: Sequence[Change], *, dry_run: bool, unneeded: str = "has it already"
) -> list[dict[str, Any]]:
    """Writes changes of a program's settings unless `dry_run`, and shows them without --json.

    Returns:
        What became of each file.

    Args:
        unneeded: what is said of a file that stays as it is.

    Raises:
        SettingsInvalid: a file cannot be written; then none is.
    """
    needed = [change for change in changes if change.is_needed]
    shown = not given("json")
    for change in needed if shown else ():
        say_text(change.difference(), err=not dry_run)
    backups = {} if dry_run else dict(zip([each.path for each in needed], write(runtime, needed), strict=True))
    for change in changes if shown else ():
        say(_outcome(change, backups.get(change.path), dry_run=dry_run, unneeded=unneeded), err=True)
    return [
        {
            "path": str(change.path),
            "needed": change.is_needed,
            "written": change.is_needed and not dry_run,
            "difference": change.difference() if change.is_needed else "",
            "backup": str(backup) if (backup := backups.get(change.path)) else None,
        }
        for change in changes
    ]


def _outcome(change: Change, backup: Path | None, *, dry_run: bool, unneeded: str) -> str:
    path = str(change.path)
    if not change.is_needed:
        return f"{path} {unneeded}"
    if dry_run:
        return f"{path} would {'go' if change.after is None else 'be changed like this'}; nothing was written"
    if change.after is None:
        return f"{path} removed: nothing else was in it"
    return f"{path} changed" + (f"; as it was: {backup!s}" if backup else "")


class Arrivals(NamedTuple):
    """When the daemons last heard of each client."""

    clients: Sequence[dict[str, Any]]
    since: str | None
    """How far back they looked; None: to the beginning."""

    def last(self, runtime: str, part: Part) -> str | None:
        """The time of the last call or of the last volunteered context of a program's clients."""
        kind, begins = _KINDS[part], RUNTIMES[runtime].clients
        times = [
            each[kind]["time"]
            for each in self.clients
            if each[kind] is not None and each["client"].strip().casefold().startswith(begins)
        ]
        return max(times, default=None)


def _print(programs: Sequence[Connected], arrivals: Arrivals | None) -> None:
    rows: list[_Row] = [("program", "installed", "folder", "mcp", "hook", "last call", "last context")]
    for program in programs:
        rows += _rows(program, arrivals)
    print_table(rows, set(), drop=[1, 6], wrap=2)
    for line in _remarks(programs, arrivals):
        say(line, err=True)


def _arrivals() -> Arrivals | None:
    """What all running daemons know; None: none runs that could say it."""
    answers = []
    for record in running():
        try:
            with connect(record.socket, name="workspaced-cli", timeout_s=_ASK_S) as client:
                answers.append(client.call("workspaced/clients"))
        except WorkspacedError:
            continue  # it ends
    if not answers:
        return None
    since = [answer["since"]["time"] for answer in answers if answer["since"] is not None]
    return Arrivals([each for answer in answers for each in answer["clients"]], max(since, default=None))


def _json(program: Connected, arrivals: Arrivals | None) -> dict[str, Any]:
    return {
        "runtime": program.runtime,
        "title": RUNTIMES[program.runtime].title,
        "installed": program.is_installed,
        "mcp": [_connection(each) for each in program.connections if each.part == "mcp"],
        "hook": [_connection(each) for each in program.connections if each.part == "hook"],
        "problems": program.problems,
        "lastCall": arrivals.last(program.runtime, "mcp") if arrivals else None,
        "lastContext": arrivals.last(program.runtime, "hook") if arrivals else None,
        "untrusted": _is_untrusted(program, arrivals),
    }


def _connection(each: Connection) -> dict[str, Any]:
    return {
        "name": each.name,
        "path": str(each.path),
        "vaults": each.vaults,
        "command": [*each.command.program, *each.command.arguments],
        "faults": list(each.faults()),
    }


def _rows(program: Connected, arrivals: Arrivals | None) -> Iterator[_Row]:
    """A row for each folder; what is known of the program as a whole stands in the first."""
    has_hooks = RUNTIMES[program.runtime].hooks is not None
    times = [_time(program, part, arrivals) for part in _KINDS]
    head = [RUNTIMES[program.runtime].title, "yes" if program.is_installed else "no"]
    for folder, connections in (_by_folder(program) or {"-": []}).items():
        mcp = ", ".join(each.name for each in connections if each.part == "mcp")
        hook = "yes" if any(each.part == "hook" for each in connections) else "no" if has_hooks else "has none"
        hook = "not trusted" if hook == "yes" and _is_untrusted(program, arrivals) else hook
        yield head[0], head[1], folder, mcp or ("unknown" if program.problems else "-"), hook, times[0], times[1]
        head, times = ["", ""], ["", ""]


def _by_folder(program: Connected) -> dict[str, list[Connection]]:
    """The connections of each folder, by its path; those that name none under `any`."""
    by_place: dict[tuple[str, ...], list[Connection]] = {}
    for each in program.connections:
        by_place.setdefault(tuple(map(os.path.realpath, each.vaults)), []).append(each)
    return {", ".join(each[0].vaults) or "any": each for each in by_place.values()}


def _time(program: Connected, part: Part, arrivals: Arrivals | None) -> str:
    """When the part last did its work; empty if there is none."""
    if not any(each.part == part for each in program.connections):
        return ""
    if arrivals is None:
        return "unknown"
    if (time := arrivals.last(program.runtime, part)) is not None:
        return local_time(time, timespec="minutes")
    return "never" if arrivals.since is None else f"not since {local_time(arrivals.since, timespec='minutes')}"


def _is_untrusted(program: Connected, arrivals: Arrivals | None) -> bool:
    """Whether its hooks seem to wait for the user's trust: it is used, or never was, and none arrived."""
    if arrivals is None or not RUNTIMES[program.runtime].next_step:
        return False
    is_used = arrivals.since is None or arrivals.last(program.runtime, "mcp") is not None
    has_hooks = any(each.part == "hook" for each in program.connections)
    return has_hooks and is_used and arrivals.last(program.runtime, "hook") is None


def _remarks(programs: Sequence[Connected], arrivals: Arrivals | None) -> Iterator[str]:
    for program in programs:
        title = RUNTIMES[program.runtime].title
        if _is_untrusted(program, arrivals):
            yield f"{title}: installed, not trusted (open /hooks in {title})"
        for problem in program.problems:
            yield f"{title}: {problem}"
        for each in program.connections:
            for fault in each.faults():
                yield f"{title}: {each.name} in {each.path}: {fault}"
    if arrivals is None and any(program.connections for program in programs):
        yield "No daemon runs, so last calls and contexts are unknown."
