"""Reads the text of one PDF, in a process of its own.

`python -m workspaced_tools.vault.files.pdf_reading` reads the file from standard input and writes a `PdfText` as
JSON. The library is native code over files of others: it may crash, or take minutes. So no daemon runs it.
"""

import resource
import sys

import msgspec

from ...limits import PDF_MEMORY_BYTES, PDF_S, PDF_TEXT_CHARS_MAX
from .pdf_texts import PdfText


def main() -> None:
    """Reads standard input."""
    resource.setrlimit(resource.RLIMIT_CPU, (PDF_S, PDF_S))
    resource.setrlimit(resource.RLIMIT_AS, (PDF_MEMORY_BYTES, PDF_MEMORY_BYTES))
    sys.stdout.buffer.write(msgspec.json.encode(pdf_text(sys.stdin.buffer.read())))


def pdf_text(content: bytes) -> PdfText:
    """The text page by page, each page behind its number, up to PDF_TEXT_CHARS_MAX characters."""
    from pypdfium2 import PdfDocument

    document = PdfDocument(content)
    parts: list[str] = []
    room = PDF_TEXT_CHARS_MAX
    for number in range(1, len(document) + 1):
        text = document[number - 1].get_textpage().get_text_bounded().replace("\r\n", "\n").replace("\r", "\n")
        room -= len(text)
        if room < 0:
            return PdfText("".join(parts), len(document), number - 1)
        parts.append(f"[page {number}]\n\n{text.strip()}\n\n" if text.strip() else "")
    return PdfText("".join(parts), len(document), len(document))


if __name__ == "__main__":
    main()
