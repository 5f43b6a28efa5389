"""`workspaced context export` and `import`: conversations as Markdown files.

Images of `chat.md` are files in `chat.images/` beside it, named by the hash of their bytes. The chat's hidden
comment then holds the path of the file where it else holds a data URI. Only these values change, so the rest of
the file keeps its bytes and its lines their numbers.
"""

import binascii
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from workspaced_events.errors import InvalidArgument
from workspaced_tools.chats.markdown_file import read_chat
from workspaced_tools.chats.message_text import COMMENT
from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.limits import ATTACHED_IMAGE_BYTES_MAX

from ...errors import RequestError
from ...limits import IMPORT_CONTEXT_WINDOW, IMPORT_OUTPUT_RESERVE, REQUEST_BYTES_MAX
from ...terminal.daemon import ask, daemon
from ...terminal.options import daemon_options, given
from ...terminal.output import output, print_warnings, write_lines
from ...terminal.printing import print_bytes, print_json, say, warn

_ENVELOPE_BYTES: Final = 16 * 1024
"""Left of a request for its other parameters."""
_IMPORT_S: Final = 60.0
"""Each text of a chat becomes a file of its own, synced."""
FOLDER_SUFFIX: Final = ".images"
_HASH_CHARS: Final = 16
_SUFFIXES: Final = {"jpeg": "jpg", "svg+xml": "svg"}
"""By subtype, where the suffix is not the subtype itself."""
_SUBTYPES: Final = {suffix: subtype for subtype, suffix in _SUFFIXES.items()}
_DATA: Final = re.compile(r"data:image/([a-z0-9.+-]{1,64});base64,", re.IGNORECASE)
_REFERENCE: Final = re.compile(
    rf"[^/\\\x00-\x1f]{{1,255}}{re.escape(FOLDER_SUFFIX)}/([0-9a-f]{{{_HASH_CHARS}}})\.([a-z0-9.+-]{{1,64}})"
)


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


def set_apart(text: str, output: Path) -> tuple[str, dict[Path, bytes]]:
    """The text of a chat that is written to `output`, with paths for its images; and these files' bytes."""
    files: dict[Path, bytes] = {}
    references: dict[str, str] = {}
    for uri in _images(text):
        found = _DATA.match(uri)
        try:
            content = b64decode(uri[found.end() :], validate=True) if found is not None else b""
        except (binascii.Error, ValueError):
            continue
        if found is None or not content:
            continue
        subtype = found[1].lower()
        name = f"{hashlib.sha256(content).hexdigest()[:_HASH_CHARS]}.{_SUFFIXES.get(subtype, subtype)}"
        folder = f"{output.stem}{FOLDER_SUFFIX}"
        files[output.parent / folder / name] = content
        references[uri] = f"{folder}/{name}"
    return _exchanged(text, references), files


def write_images(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Writes the files; those that are there with the same bytes stay.

    Raises:
        InvalidArgument: a file is there with other bytes, and not `force`; or their folder cannot be made. Then
            nothing is written.
    """
    wanted = {
        each: content for each, content in files.items() if not each.is_file() or each.read_bytes() != content
    }
    for path in wanted:
        if path.exists() and not force:
            raise InvalidArgument(
                f"The file {str(path)!r} exists and is another image.",
                hint="Name another file for the chat, replace it with --force, or keep images in the chat with "
                "--inline-images.",
            )
    for folder in {path.parent for path in wanted}:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InvalidArgument(
                f"The images of the chat cannot be written to {str(folder)!r} ({error.strerror}).",
                hint="Name another file for the chat, or keep images in the chat with --inline-images.",
            ) from None
    for path, content in wanted.items():
        write_lines(iter([content]), path)


def brought_back(text: str, folder: Path | None, bytes_max: int) -> tuple[str, list[str]]:
    """The text with its images as data URIs, at most `bytes_max` long as JSON.

    With a warning for each image that is not there, is another one, or does not fit.

    `folder`: that of the chat's file; None: the chat is read from no file.
    """
    uris: dict[str, str] = {}
    warnings: list[str] = []
    room = bytes_max - len(json.dumps(text, ensure_ascii=False).encode())
    for reference in _images(text):
        named = _REFERENCE.fullmatch(reference)
        if named is None:
            continue
        content = _content(folder / reference) if folder is not None else None
        if content is None:
            warnings.append(f"The image {reference} cannot be read; the chat only names it.")
        elif hashlib.sha256(content).hexdigest()[:_HASH_CHARS] != named[1]:
            warnings.append(f"The file {reference} is another image than the chat's; the chat only names it.")
        else:
            uri = f"data:image/{_SUBTYPES.get(named[2], named[2])};base64,{b64encode(content).decode()}"
            if (room := room - len(uri)) < 0:
                warnings.append(
                    f"The image {reference} is left out: the chat would be too long to import with it."
                )
                room += len(uri)
            else:
                uris[reference] = uri
    return _exchanged(text, uris), warnings


def _images(text: str) -> Iterator[str]:
    """The texts of the chat's images, each once; nothing if it is no chat."""
    try:
        messages = read_chat(text).chat.messages
    except ArgumentInvalid:
        return
    attached = (each for message in messages for each in message.attachments)
    yield from dict.fromkeys(each.text for each in attached if each.kind == "image" and each.text)


def _exchanged(text: str, values: Mapping[str, str]) -> str:
    if not values:
        return text
    pairs = {_encoded(old): _encoded(new) for old, new in values.items()}
    pattern = re.compile("|".join(map(re.escape, pairs)))
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith(COMMENT):
            lines[at] = pattern.sub(lambda found: pairs[found[0]], line)
    return "\n".join(lines)


def _encoded(value: str) -> str:
    """As write_chat puts it into a comment."""
    encoded = json.dumps(value, ensure_ascii=False)
    return f'"text":{encoded}'.replace("--", "-\\u002d").replace(">", "\\u003e")


def _content(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > ATTACHED_IMAGE_BYTES_MAX:
            return None
        return path.read_bytes()
    except OSError:
        return None
