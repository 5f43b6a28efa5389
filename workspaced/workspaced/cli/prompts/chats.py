"""`workspaced context export` and `import`: conversations as Markdown files."""

from pathlib import Path
from typing import Any, Final

import click

from workspaced_events.errors import InvalidArgument

from ...errors import RequestError
from ...limits import IMPORT_CONTEXT_WINDOW, IMPORT_OUTPUT_RESERVE, REQUEST_BYTES_MAX
from ..shared.daemon import ask, daemon
from ..shared.options import daemon_options, given
from ..shared.output import output, print_warnings, write_lines
from ..shared.printing import print_bytes, print_json, say, warn
from .chat_images import brought_back, set_apart, write_images

_ENVELOPE_BYTES: Final = 16 * 1024
"""Left of a request for its other parameters."""
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
    help="Where to; a folder gets a file named after the chat. Default: standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE, and images beside it, where they exist.")
@click.option("--inline-images", is_flag=True, help="Keep images in FILE as data URIs, not as files beside it.")
@daemon_options
def export_command(conversation: str, to: Path | None, force: bool, inline_images: bool) -> None:
    """Write a conversation as Markdown, for reading, keeping, and importing again.

    Attachments that name withheld notes are left out. FILE has its images beside it: those of chat.md are in the
    folder chat.images.
    """
    exported = ask("workspaced/context/export", {"conversation": conversation})
    _warn(exported["warnings"])
    if exported["withheld"]:
        say(f"left out, since their notes are withheld: {exported['withheld']}", err=True)
    written = _write(exported, to, force=force, inline_images=inline_images) if to is not None else None
    if given("json"):
        print_json(exported)
    elif written is not None:
        say(f"wrote {written!s}", err=True)
    else:
        print_bytes(exported["text"].encode())


def _write(exported: dict[str, Any], to: Path, *, force: bool, inline_images: bool) -> Path:
    """Writes the file as a whole or not at all, after its images."""
    path = to / exported["fileName"] if to.is_dir() else to
    if path.exists() and not force:
        raise InvalidArgument(
            f"The file {str(path)!r} exists.", hint="Name another one, or replace it with --force."
        )
    text = exported["text"]
    if not inline_images:
        text, images = set_apart(text, path)
        write_images(images, force=force)
    write_lines(iter([text.encode()]), path)
    return path


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--provider", metavar="NAME", help="Where the file does not say it, or other than it says.")
@click.option("--model", metavar="NAME", help="Likewise.")
@click.option("--context-window", type=int, metavar="TOKENS", help=f"Likewise; default: {IMPORT_CONTEXT_WINDOW}.")
@click.option(
    "--output-reserve",
    type=int,
    metavar="TOKENS",
    help=f"Likewise: what is kept free for the answer; default: {IMPORT_OUTPUT_RESERVE}, less of a small window.",
)
@click.option("--conversation", metavar="ID", help="Its id; default: the file's where it is free, else a new one.")
@daemon_options
def import_command(file: Any, **settings: Any) -> None:
    """Begin a conversation from a chat file; - reads standard input.

    Images are read from the files beside FILE that it names. Files of older tools are read as well. What cannot be
    taken as it stands is a warning, with its line; notes are looked for in the vault by path, former path and file
    name.
    """
    names = {"context_window": "contextWindow", "output_reserve": "outputReserve"}
    params = {names.get(name, name): value for name, value in settings.items() if value is not None}
    folder = Path(file.name).parent if isinstance(file.name, str) and file.name != "<stdin>" else None
    params["text"], missing = brought_back(_text(file.read()), folder, REQUEST_BYTES_MAX - _ENVELOPE_BYTES)
    print_warnings(missing)
    with daemon(timeout_s=_IMPORT_S, write=True) as client:
        try:
            imported = client.call("workspaced/context/import", params)
        except RequestError as error:
            if error.code != "LINE_TOO_LARGE":
                raise
            raise RequestError(
                error.code,
                f"The chat is too long to import: with its escapes it may have {REQUEST_BYTES_MAX:,} bytes.",
                hint="Take messages out of the file, or the texts of attachments out of its comments.",
            ) from None
    _warn(imported["warnings"])
    output(imported, f"conversation {imported['conversation']}: {len(imported['messages'])} messages")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"The file is no UTF-8 text: byte {error.start} cannot be read.",
            hint="A chat file is Markdown in UTF-8.",
        ) from None


def _warn(warnings: list[dict[str, Any]]) -> None:
    for each in warnings:
        warn(f"line {each['line']}: {each['message']} [{each['code']}]")
        for candidate in each["candidates"]:
            say(f"  {candidate}", err=True)
