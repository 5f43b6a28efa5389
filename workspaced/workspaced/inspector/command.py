"""`workspaced inspect`."""

import os
import webbrowser
from pathlib import Path

import click

from workspaced_events.errors import InvalidArgument
from workspaced_events.replay.bundle import BundleSource
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import DirectorySource

from ..daemon.freed_memory import give_back_freed_memory
from ..discovery.beside import noted
from ..discovery.records import find, running
from ..terminal.log import log_directory
from ..terminal.options import at_option, daemon_options, given
from ..terminal.output import output
from ..terminal.printing import say
from .server import run_inspector
from .subject import Subject


@click.command()
@click.argument("log", metavar="[LOG]", required=False)
@at_option
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="On this machine's loopback; default: any."
)
@click.option("--no-browser", is_flag=True, help="Only print the page's address.")
@click.option("--allow-changes", is_flag=True, help="The page may judge answers.")
@daemon_options
def inspect_command(
    log: str | None, at: int | str | None, port: int, no_browser: bool, allow_changes: bool
) -> int:
    """Open a page that shows what agents were shown, why, and what it cost, until Ctrl-C.

    LOG is a data directory, the file of a bundle or an export, or a folder that a daemon serves; without it, the
    running daemon's log, else the workspace's. The log of a running daemon grows on the page too. The page shows
    all that the log holds, with what is withheld from agents. Ends 10 minutes after the last page.

    \b
    workspaced inspect
    workspaced inspect bug.wsb --at 120
    """
    subject, as_json = _subject(log), given("json")

    def ready(address: str, once: str) -> None:
        found = {"url": address, "once": once, "log": str(subject.path), "kind": subject.kind, "pid": os.getpid()}
        output(found, f"inspecting {subject.name} at {address}")
        if not no_browser and not as_json:
            webbrowser.open(once)

    def forgotten() -> None:
        if not as_json:
            say("ended: nobody looked for 10 minutes", err=True)

    give_back_freed_memory()
    with noted("inspector", f"shows {subject.path.absolute()}"):
        return run_inspector(subject, port, at, ready, forgotten, may_change=allow_changes)


def _subject(log: str | None) -> Subject:
    path, name = (Path(log), log) if log is not None else (directory := log_directory(), str(directory))
    if not path.exists():
        # Views read a log again and again, so standard input is none here.
        raise InvalidArgument(f"There is no {log}.", hint="Give a data directory, an export or a bundle.")
    if path.is_dir() and not (path / "log" / "HEAD").is_file() and (serving := find(path)) is not None:
        path, name = Path(serving.data_dir), serving.data_dir  # it is the folder of notes
    with open_source(path) as source:
        if not isinstance(source, DirectorySource):
            return Subject(path, name, "bundle" if isinstance(source, BundleSource) else "export")
    place = source.root.resolve()
    for record in running():
        if Path(record.data_dir).resolve() == place:
            return Subject(path, name, "daemon", Path(record.socket))
    return Subject(path, name, "directory")
