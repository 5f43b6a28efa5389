"""The text of PDFs, read by a process of its own (see pdf_reading), if `workspaced[pdf]` is installed."""

import os
import subprocess
from importlib.util import find_spec
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.blobs.latest_used import LatestUsed
from workspaced_events.interpreter import own_module

from ...errors import BinaryFile, ToolError
from ...limits import ECHO_CHARS_MAX, PDF_BYTES_MAX, PDF_S, PDF_TEXTS_BYTES_MAX
from ...notes.note import Note, NoteFailure, StatKey
from .safe_open import VaultRoot

NOT_INSTALLED: Final = "its text can be read once the user installs workspaced[pdf]"


class PdfText(msgspec.Struct, frozen=True):
    """The text of a PDF."""

    text: str
    pages: int
    """Of the whole file."""
    pages_read: int


_DECODER: Final = msgspec.json.Decoder(PdfText)


class PdfTexts:
    """Reads PDFs as notes, and keeps the latest texts. Safe from any thread; blocks for at most PDF_S."""

    def __init__(self, root: VaultRoot) -> None:
        self._root: Final = root
        self._known = LatestUsed[tuple[str, StatKey], Note | NoteFailure](PDF_TEXTS_BYTES_MAX, _size)

    def read(self, found: Note) -> Note | NoteFailure:
        """The PDF `found`, whose text is not read yet, with its text; a failure of the code BINARY_FILE if it has
        none for us."""
        at = (found.id, found.stat)
        return self._known.get(at) or self._known.put(at, self._read(found))

    def _read(self, found: Note) -> Note | NoteFailure:
        if find_spec("pypdfium2") is None:
            return _failure(found, NOT_INSTALLED)
        if found.stat.size > PDF_BYTES_MAX:
            return _failure(found, f"of more than {PDF_BYTES_MAX} bytes no text is read")
        try:
            descriptor = self._root.open_note(found.id)
        except ToolError as error:
            return NoteFailure(found.id, error.code, error.message)
        try:
            command = own_module(f"{__package__}.pdf_reading")
            done = subprocess.run(  # noqa: S603
                command, stdin=descriptor, capture_output=True, timeout=PDF_S, check=True
            )
            pdf = _DECODER.decode(done.stdout)
        except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
            return _failure(found, "its text cannot be read: it is damaged, locked, or takes too long")
        finally:
            os.close(descriptor)
        if not pdf.text.strip():
            return _failure(found, f"its {pdf.pages} pages hold no text, perhaps pictures of it")
        more = f"The text is that of the first {pdf.pages_read} of {pdf.pages} pages."
        warnings = (more,) if pdf.pages_read < pdf.pages else ()
        source = pdf.text.encode(errors="replace")
        return replace(found, source=source, unread=None, warnings=warnings, pages=pdf.pages)


def _failure(found: Note, why: str) -> NoteFailure:
    shown = repr(found.id[:ECHO_CHARS_MAX])
    return NoteFailure(found.id, BinaryFile.code, f"{shown} is a PDF; {why}.", found.stat.size)


def _size(known: Note | NoteFailure) -> int:
    return len(known.source) if isinstance(known, Note) else len(known.message)
