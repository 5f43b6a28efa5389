"""What `workspaced connect` lists: programs, what connects them, and when the daemons last heard of each."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from workspaced_events.errors import WorkspacedError

from ...client.sync_client import connect
from ...connecting.listing import Connected, Connection, connected
from ...connecting.plans import PARTS, Part
from ...connecting.runtimes import RUNTIMES
from ...discovery.records import running
from ..shared.output import output, print_table
from ..shared.printing import say
from ..shared.terminal import local_time

_ASK_S: Final = 5.0
_KINDS: Final[dict[Part, str]] = {"mcp": "lastCall", "hook": "lastVolunteered"}
"""The field of `workspaced/clients` that tells of a part."""
_Row = tuple[str, str, str, str, str, str, str]


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


def list_connections() -> None:
    """Prints every program. Daemons that do not run are not started: what they would know is unknown."""
    programs, arrivals = connected(), _arrivals()
    answer = {"arrivalsKnown": arrivals is not None, "programs": [_json(each, arrivals) for each in programs]}
    output(answer, lambda _: _print(programs, arrivals))


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
            continue  # it ends, or is of a version before the method
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
    times = [_time(program, part, arrivals) for part in PARTS]
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
