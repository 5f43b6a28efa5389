"""`workspaced start`: serves a folder in the background, and connects the agents' programs that are installed."""

import os
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from workspaced_events.interrupts import interrupts_held_back

from ..client.sync_client import SyncClient, connect
from ..discovery.autostart import end_started, own_workspace, reach_or_start
from ..discovery.records import Record, find
from ..errors import NoDaemon, SettingsInvalid
from ..settings.settings import load_settings
from ..terminal.options import given, json_option
from ..terminal.output import output
from ..terminal.printing import agreed, asked, counted, say, say_text, styled, warn
from ..vaults.registration import check_apart, usable_folder
from .connect_command import apply, connected, remarks_on, start_anew
from .plans import plan_connection
from .runtimes import RUNTIMES
from .settings_files import Change
from .writing import write

_FOLDERS_LOOKED_INTO_MAX: Final = 1_000
"""Of a folder that nobody named; one without notes in so many is hardly one of notes."""
_ASK_S: Final = 10.0
_LOOKED_S: Final = 0.1
_STANDS_S: Final = 10.0
"""An index that has grown by no note for so long is not waited for."""
_NEOVIM: Final = """\
local found, folder = pcall(vim.fn.system, { "workspaced", "path", "neovim" })
if found and vim.v.shell_error == 0 then
  vim.opt.runtimepath:prepend(vim.trim(folder))
end
"""
_EDITORS: Final = {
    "nvim": ("Neovim", "put this into init.lua:"),
    "code": ("VS Code", "install the extension (docs/how-to/vscode.md)."),
    "hx": ("Helix", "let `workspaced lsp` be the language server of Markdown (docs/how-to/language-clients.md)."),
    "emacs": (
        "Emacs",
        "let `workspaced lsp` be the language server of Markdown (docs/how-to/language-clients.md).",
    ),
}
"""By the command: the editor's name, and how it begins to publish."""


class _Plan(NamedTuple):
    """What connects a program with the folder."""

    runtime: str
    changes: list[Change]

    @property
    def title(self) -> str:
        return RUNTIMES[self.runtime].title

    @property
    def is_needed(self) -> bool:
        return any(each.is_needed for each in self.changes)


@click.command()
@click.argument("folder", required=False)
@click.option("--yes", is_flag=True, help="Connect the programs that are found, without a question.")
@click.option("--dry-run", is_flag=True, help="Start nothing and write nothing; show what would be written.")
@json_option
def start_command(folder: str | None, yes: bool, dry_run: bool) -> None:
    """Serve a folder of notes in the background, and connect the agents that are installed.

    Without FOLDER: the current one, if it holds notes. Run again it says what is so already. The daemon runs until
    `workspaced stop`; `workspaced service install --vault FOLDER` has it start with your session.

    \b
    workspaced start ~/notes
    """
    path = usable_folder(Path(folder)) if folder is not None else _here()
    record = find(path)
    workspace = record.workspace if record is not None else _workspace_for(path)
    plans, problems = _plans(path)
    served = {"folder": str(path)} if dry_run else _serve(path, record, workspace)
    if dry_run:
        _tell(f"{path!s} would be served; nothing is started or written.")
    if not plans and not problems:
        _tell("No agent's program was found; `workspaced connect` lists those that can be connected.")
    files = _connect(plans, yes=yes, dry_run=dry_run)
    for problem in problems:
        sentence, _, by_hand = problem.partition("\n")
        warn(sentence)
        if by_hand:
            say_text(by_hand, err=True)
    editors = [command for command in _EDITORS if shutil.which(command)]
    agents = [{"runtime": each.runtime, "files": files.get(each.runtime, [])} for each in plans]
    output(
        {**served, "agents": agents, "problems": problems, "editors": editors},
        lambda _: _next(editors, served.get("workspace", "default")),
    )


def _here() -> Path:
    """The current folder, if it holds notes; else a folder that the user names, where one can be asked.

    Raises:
        SettingsInvalid: there is none.
    """
    here = Path.cwd()
    if _holds_notes(here):
        return here
    if not _can_ask():
        raise SettingsInvalid(
            f"The current folder {here} holds no Markdown.", hint="Name the folder: `workspaced start DIR`."
        )
    return usable_folder(Path(asked("The folder of your notes")))


def _holds_notes(folder: Path) -> bool:
    for number, (_, below, files) in enumerate(os.walk(folder)):
        if any(name.lower().endswith(".md") for name in files):
            return True
        if number >= _FOLDERS_LOOKED_INTO_MAX:
            return False
        below[:] = [name for name in below if not name.startswith(".")]
    return False


def _workspace_for(folder: Path) -> str:
    """The workspace that a daemon for the folder would have.

    Raises:
        SettingsInvalid: the daemon's own files would lie in the folder.
    """
    settings = load_settings(workspace=own_workspace(str(folder)))
    check_apart([folder], settings.data_path, settings.socket_path, settings.cache_path)
    return settings.workspace


def _serve(folder: Path, record: Record | None, workspace: str) -> dict[str, Any]:
    """Has a daemon serve the folder, and waits until its names and links are known.

    Raises:
        NoDaemon: none could be started.
        KeyboardInterrupt: the user does not want it; then a daemon that was started for it has ended.
    """
    try:
        with _reached(folder, record, workspace) as client:
            vault = _indexed(client, folder)
    except KeyboardInterrupt:
        with interrupts_held_back():  # a second Ctrl-C would end this without a word
            if end_started():
                say("Interrupted: the daemon that was started has ended, and nothing was connected.", err=True)
        raise
    except NoDaemon:
        end_started()  # it runs, but nobody finds it: its record could not be written
        raise
    notes, is_above = vault["index"]["notesFound"], vault["path"] != str(folder)
    if not given("json"):
        how = "already served" if record is not None else "served in the background"
        part = f" as a part of {vault['path']}" if is_above else ""
        say(styled(counted(notes, "note"), bold=True), f" {how}{part}, workspace {workspace}.")
        if not notes and vault["index"]["state"] == "ready":
            say("It holds no note yet: agents find nothing until a Markdown file (*.md) is in it.")
        if record is None:
            stop, install = f"workspaced stop{_named(workspace)}", f"workspaced service install{_named(workspace)}"
            say(f"They are until `{stop}`. To serve them in every session of yours:")
            say(f"    {stop} && {install} --vault {shlex.quote(str(folder))}")
    return {
        "folder": str(folder),
        "workspace": workspace,
        "started": record is None,
        "vault": vault["path"],
        "notes": notes,
    }


def _reached(folder: Path, record: Record | None, workspace: str) -> SyncClient:
    if record is not None:
        return connect(record.socket, name="workspaced-cli", timeout_s=_ASK_S)

    def reach() -> SyncClient | None:
        started = find(folder)
        return connect(started.socket, name="workspaced-cli", timeout_s=_ASK_S) if started is not None else None

    return reach_or_start(reach, vaults=[str(folder)], workspace=workspace, idle_minutes=None)


def _indexed(client: SyncClient, folder: Path) -> dict[str, Any]:
    """What `status` says of the vault once its names are known; a bar on a terminal until then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        task, seen, since = bars.add_task("reading your notes", total=None), -1, time.monotonic()
        while True:
            vaults = client.call("workspaced/status")["vaults"]
            vault: dict[str, Any] = next(each for each in vaults if folder.is_relative_to(each["path"]))
            found, indexed = vault["index"]["notesFound"], vault["index"]["notesIndexed"]
            if indexed != seen:
                seen, since = indexed, time.monotonic()
            if vault["index"]["state"] == "ready" or time.monotonic() - since > _STANDS_S:
                return vault
            bars.update(task, completed=indexed, total=found or None)
            time.sleep(_LOOKED_S)


def _plans(folder: Path) -> tuple[list[_Plan], list[str]]:
    """What connects each installed program, and what the user should know of those that are not, or not wholly."""
    plans, problems, denied = list[_Plan](), list[str](), load_settings().deny
    for program in connected():
        if not program.is_installed:
            continue
        try:
            plans.append(_Plan(program.runtime, plan_connection(program.runtime, str(folder), denied=denied)))
            problems += remarks_on(program.runtime, str(folder), denied)
        except SettingsInvalid as error:
            problems.append(f"{RUNTIMES[program.runtime].title} is not connected: {error.message} {error.hint}")
    return plans, problems


def _connect(plans: Sequence[_Plan], *, yes: bool, dry_run: bool) -> dict[str, list[dict[str, Any]]]:
    """Writes what connects the programs, after the user saw it and agreed; returns what became of each file.

    Raises:
        SettingsInvalid: a file of a program cannot be written; then none of this program is.
    """
    needed = [each for each in plans if each.is_needed]
    if done := ", ".join(each.title for each in plans if not each.is_needed):
        _tell(f"Connected already: {done}.")
    if not needed:
        return {}
    _tell(f"Agents found: {', '.join(each.title for each in needed)}.")
    if yes and not dry_run:
        files = {each.runtime: apply(each.runtime, each.changes, dry_run=False) for each in needed}
    else:
        files = {each.runtime: apply(each.runtime, each.changes, dry_run=True) for each in needed}
        if dry_run:
            return files
        if not _can_ask():
            _tell("Nothing was written: add --yes, or run it in a terminal.")
            return files
        if not agreed("Connect them?"):
            _tell("Nothing was written. `workspaced connect` connects one program.")
            return files
        for each in needed:
            write(each.runtime, [change for change in each.changes if change.is_needed])
            files[each.runtime] = [{**file, "written": file["needed"]} for file in files[each.runtime]]
    for each in needed:
        start_anew(each.runtime, files[each.runtime], RUNTIMES[each.runtime].next_step)
    return files


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not given("json")


def _named(workspace: str) -> str:
    """The option by which a command acts on the workspace."""
    return "" if workspace == "default" else f" --workspace {workspace}"


def _next(editors: Sequence[str], workspace: str) -> None:
    """Says how the editors that are installed begin to publish, and what to try."""
    for command in editors:
        name, how = _EDITORS[command]
        say(f"{name}: {how}")
        if command == "nvim":
            say_text(textwrap.indent(_NEOVIM, "    "))
    if not editors:
        say("No editor was found that we know; `workspaced publish active_note_set note=NOTE` plays one.")
    say(f'Try: ask your agent "what am I looking at?"    Look: workspaced inspect{_named(workspace)}')


def _tell(text: str) -> None:
    if not given("json"):
        say(text)
