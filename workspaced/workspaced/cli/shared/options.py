"""What the commands share: how to reach the daemon, how to print, how to read `key=value`."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.escaping import shown as shown
from workspaced_events.log.private_files import FILE_MODE

from ...client.sync_client import SyncClient, connect, socket_from_environment
from ...discovery.autostart import reach_or_start
from ...discovery.records import running, serving
from ...errors import NoDaemon, SettingsInvalid
from ...limits import ON_DEMAND_IDLE_MINUTES

if TYPE_CHECKING:
    from workspaced_events.blobs.durable import BlobTrouble

F = TypeVar("F", bound=Callable[..., Any])

_NAME = "workspaced-cli"


def daemon_options(function: F) -> F:
    """`--socket` and `--workspace`: which daemon."""
    function = click.option("--workspace", metavar="NAME", help="Name of the workspace (default: default).")(
        function
    )
    return click.option("--socket", "socket_path", metavar="PATH", help="The daemon's socket.")(function)


def json_option(function: F) -> F:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def _moment(_context: click.Context, _option: click.Parameter, text: str | None) -> int | str | None:
    if text is None:
        return None
    from workspaced_events.replay.position import parse_until

    return parse_until(text)


def at_option(function: F) -> F:
    """`--at`: a past moment."""
    return click.option(
        "--at",
        metavar="SEQ|TIME",
        callback=_moment,
        help="As it was after this event, or at this time.",
    )(function)


def visibility_option(function: F) -> F:
    """`--with-visibility`: what the log says of withheld notes leaves the machine too."""
    return click.option(
        "--with-visibility",
        is_flag=True,
        help="Keep the events that say which notes are withheld; they name private notes.",
    )(function)


def check_visibility(*, redact: bool, with_visibility: bool) -> None:
    """
    Raises:
        UsageError: both are asked for.
    """
    if redact and with_visibility:
        raise click.UsageError("Redaction leaves out which notes are withheld: give one of the two options.")


def vault_option(function: F) -> F:
    """`--vault`: start a daemon for it if none runs."""
    return click.option(
        "--vault",
        "vaults",
        multiple=True,
        metavar="DIR",
        help=f"Start a daemon for this folder if none runs; it ends after {ON_DEMAND_IDLE_MINUTES} idle minutes.",
    )(function)


def daemon(
    socket_path: str | None, workspace: str | None, *, vaults: Sequence[str] = (), timeout_s: float = 10.0
) -> SyncClient:
    """A connection to the daemon the user means; with `vaults` one is started if none runs.

    Raises:
        NoDaemon: none runs, and none could be started.
    """
    path = _socket(socket_path, workspace, vaults)
    try:
        client = connect(path, name=_NAME, timeout_s=timeout_s)
        _mention_unserved(client, vaults)
        return client
    except NoDaemon:
        if not vaults:
            raise

    def reach() -> SyncClient | None:
        try:
            return connect(path, name=_NAME, timeout_s=timeout_s)
        except NoDaemon:
            return None

    return reach_or_start(reach, vaults=vaults, socket_path=str(path), workspace=workspace)


def _mention_unserved(client: SyncClient, vaults: Sequence[str]) -> None:
    served = {each["path"] for each in client.server["vaults"]}
    for vault in vaults:
        if str(Path(vault).expanduser().resolve()) not in served:
            click.echo(f"the daemon that runs does not serve {vault}; it answers for its own vaults", err=True)


def _socket(socket_path: str | None, workspace: str | None, vaults: Sequence[str]) -> Path:
    """Where the daemon is that is meant: the socket or workspace that is named; else the daemon that serves the
    folders that are named; else the only one that runs, or of several the one that serves the current directory;
    else the default one."""
    if socket_path or (not workspace and os.environ.get("WORKSPACED_SOCKET")):
        return socket_from_environment(socket_path, workspace)
    found = running()
    if named := workspace or os.environ.get("WORKSPACED_WORKSPACE"):
        default = socket_from_environment(None, named)
        sockets = [Path(each.socket) for each in found if each.workspace == named]
        return default if not sockets or default in sockets else sockets[0]
    record = found[0] if len(found) == 1 and not vaults else serving(found, vaults or _here())
    return Path(record.socket) if record is not None else _preferred()


def _preferred() -> Path:
    """Where the default daemon listens, as the settings file or the workspace's name say."""
    if not _has_config_file():
        return socket_from_environment()
    from ...daemon.settings import load_settings

    return load_settings().socket_path


def _here() -> list[str]:
    try:
        return [str(Path.cwd())]
    except FileNotFoundError:
        return []


def _has_config_file() -> bool:
    if given := os.environ.get("WORKSPACED_CONFIG"):
        return Path(given).exists()
    import platformdirs

    return (platformdirs.user_config_path("workspaced") / "config.toml").exists()


@contextmanager
def segment_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that counts segments, where a person watches; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_json(value: Any) -> None:
    """One JSON value on a line, for programs."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_ndjson(values: Iterable[Any]) -> None:
    """Values of ours as JSON, one a line, for programs."""
    print_bytes(b"".join(msgspec.json.encode(value) + b"\n" for value in values))


def print_bytes(data: bytes) -> None:
    """To standard output, to the byte."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_table(
    rows: Sequence[tuple[str, ...]], right: set[int], colours: Mapping[int, str] | None = None
) -> None:
    """Columns as wide as they must be; those of `right` end together. `colours` are those of some rows."""
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        padded = (
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo(click.style("  ".join(padded).rstrip(), fg=(colours or {}).get(number)))


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """`key=value` arguments.

    Raises:
        SettingsInvalid: one has no `=`.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsInvalid(f"Expected key=value, got {text[:200]!r}.")
        found[key] = value
    return found


def write_lines(lines: Iterator[bytes], output: Path | None) -> None:
    """Writes a file whole, or not at all; only its owner can read it. None: to standard output.

    Raises:
        InvalidArgument: there can be no such file.
    """
    if output is None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    if output.exists() and not output.is_file():  # a device or a pipe is written to, never replaced
        with _naming(output):
            device = output.open("wb")
        with device:
            device.writelines(lines)
        return
    # No name that others could guess: in a folder like /tmp they would put a file or a link of theirs there.
    aside = output.with_name(f".workspaced-{os.urandom(8).hex()}.tmp")
    with _naming(output):
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)  # a strict umask has taken rights from its owner, too
            file.writelines(lines)
        with _naming(output):
            aside.replace(output)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def _naming(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"Cannot write {shown(str(output))}: {error.strerror or error}.",
            hint="Name a file in a folder that is there and that you may write to.",
        ) from None


def complain_of_blobs(damaged: "Sequence[BlobTrouble]") -> None:
    """Names every damaged text of a log.

    Raises:
        LogDamaged: there is one.
    """
    for trouble in damaged[1:]:
        click.echo(f"{trouble}.", err=True)
    if damaged:
        raise LogDamaged(
            f"{damaged[0]}.",
            hint="Restore the file from a backup. Publishing the same text again writes it anew.",
            file=damaged[0].file,
            seq=damaged[0].seq,
        )


def print_warnings(warnings: list[str]) -> None:
    """What reading a log warned of."""
    for warning in warnings:
        click.echo(f"{click.style('warning:', fg='yellow')} {warning}", err=True)
