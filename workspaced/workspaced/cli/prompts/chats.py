"""`workspaced context export` and `import`: conversations as Markdown files."""

from pathlib import Path
from typing import Any, Final

import click

from workspaced_events.errors import InvalidArgument

from ...errors import RequestError
from ...limits import REQUEST_BYTES_MAX
from ...terminal.daemon import ask, daemon
from ...terminal.options import daemon_options, given
from ...terminal.output import output, write_lines
from ...terminal.printing import print_bytes, print_json, say, warn

_IMPORT_S: Final = 60.0
"""Each text of a chat becomes a file of its own, synced."""


@click.command("export")
@click.argument("conversation")
@click.option(
    "-o",
    "--output",
    "to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to; default: standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@daemon_options
def export_command(conversation: str, to: Path | None, force: bool) -> None:
    """Write a conversation as Markdown, for reading, keeping, and importing again.

    Attachments that name withheld notes are left out. Images are only named.
    """
    exported = ask("workspaced/context/export", {"conversation": conversation})
    if exported["withheld"]:
        say(f"left out, since their notes are withheld: {exported['withheld']}", err=True)
    if to is not None:
        if to.is_dir():
            raise InvalidArgument(f"{str(to)!r} is a folder.", hint="Name a file.")
        if to.exists() and not force:
            raise InvalidArgument(
                f"The file {str(to)!r} exists.", hint="Name another one, or replace it with --force."
            )
        write_lines(iter([exported["text"].encode()]), to)
    if given("json"):
        print_json(exported)
    elif to is not None:
        say(f"wrote {to!s}", err=True)
    else:
        print_bytes(exported["text"].encode())


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--provider", metavar="NAME", help="Instead of what the file says.")
@click.option("--model", metavar="NAME", help="Likewise.")
@click.option("--context-window", "contextWindow", type=int, metavar="TOKENS", help="Likewise.")
@click.option("--output-reserve", "outputReserve", type=int, metavar="TOKENS", help="Likewise.")
@click.option("--conversation", metavar="ID", help="Its id; default: the file's.")
@daemon_options
def import_command(file: Any, **settings: Any) -> None:
    """Begin a conversation from a chat file; - reads standard input."""
    params = {name: value for name, value in settings.items() if value is not None}
    with daemon(timeout_s=_IMPORT_S, write=True) as client:
        try:
            imported = client.call("workspaced/context/import", {**params, "text": _text(file.read())})
        except RequestError as error:
            if error.code != "LINE_TOO_LARGE":
                raise
            raise RequestError(
                error.code,
                f"The chat is too long to import: with its escapes it may have {REQUEST_BYTES_MAX:,} bytes.",
                hint="Take messages out of the file, or the texts of attachments out of its comments.",
            ) from None
    if imported["lost"]:
        warn(f"in no prompt until it is attached again: {', '.join(imported['lost'])}")
    output(imported, f"conversation {imported['conversation']}: {len(imported['messages'])} messages")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"The file is no UTF-8 text: byte {error.start} cannot be read.",
            hint="A chat file is Markdown in UTF-8.",
        ) from None
