"""The outline of a source file: its classes, functions and other definitions, found by tree-sitter."""

import subprocess
from typing import Final, Literal

import msgspec

from workspaced_events.interpreter import own_module

from ..limits import OUTLINE_BYTES_MAX
from .languages import grammar_of

_OUTLINE_S: Final = 3.0
"""How long an agent waits for the parser."""


class Symbol(msgspec.Struct, frozen=True):
    """One definition."""

    name: str
    kind: str
    """The grammar's word, such as `class`, `function` or `method`."""
    line: int
    """The 1-based line of the name."""
    level: int
    """1 for what stands in no other definition."""


class CodeOutline(msgspec.Struct, frozen=True, omit_defaults=True):
    """The definitions of one file, or why there are none."""

    symbols: tuple[Symbol, ...] = ()
    missing: Literal["language", "extra", "large", "failed"] | None = None
    """No grammar for the language; its packages are not installed; more than OUTLINE_BYTES_MAX; the parser
    took too long or ended."""


_SYMBOLS: Final = msgspec.json.Decoder(tuple[Symbol, ...])


def outline_of_code(path: str, source: bytes) -> CodeOutline:
    """The outline of the file at `path`, by its ending. Blocks for at most _OUTLINE_S; raises for no source."""
    grammar = grammar_of(path)
    if grammar is None:
        return CodeOutline(missing="language")
    if not grammar.is_installed:
        return CodeOutline(missing="extra")
    if len(source) > OUTLINE_BYTES_MAX:
        return CodeOutline(missing="large")
    command = own_module(f"{__package__}.parsing", path.rpartition("/")[2])
    try:
        done = subprocess.run(command, input=source, capture_output=True, timeout=_OUTLINE_S, check=True)  # noqa: S603
        return CodeOutline(_SYMBOLS.decode(done.stdout))
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        return CodeOutline(missing="failed")
