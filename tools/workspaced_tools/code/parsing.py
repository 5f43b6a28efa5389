"""Parses one source file for its definitions, in a process of its own.

`python -m workspaced_tools.code.parsing NAME` reads the source from standard input and writes its `Symbol`s as
JSON. A parser may take minutes for a hostile file, with the interpreter held all the while, or end its process. So
it never runs in the daemon.
"""

import resource
import sys
from importlib import import_module
from typing import Any, Final

import msgspec

from .languages import Grammar, grammar_of
from .outline import Symbol

_OUTLINE_NAME_CHARS_MAX: Final = 200
_OUTLINE_SYMBOLS_MAX: Final = 5_000
_OUTLINE_MEMORY_BYTES: Final = 2 * 1024 * 1024 * 1024
"""The address space of a parser's process."""
_OUTLINE_CPU_S: Final = 3
_DEFINITION: Final = "definition."


def main() -> None:
    """Parses standard input."""
    resource.setrlimit(resource.RLIMIT_CPU, (_OUTLINE_CPU_S, _OUTLINE_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_OUTLINE_MEMORY_BYTES, _OUTLINE_MEMORY_BYTES))
    grammar = grammar_of(sys.argv[1])
    assert grammar is not None, "the caller has looked"
    found = symbols(grammar, sys.stdin.buffer.read())
    sys.stdout.buffer.write(msgspec.json.encode(found))


def symbols(grammar: Grammar, source: bytes) -> list[Symbol]:
    """The definitions in the order of the text, as deep as they stand in one another."""
    found: list[Symbol] = []
    around: list[int] = []
    defined = _definitions(grammar, source).items()
    for (begin, end), (kind, name, line) in sorted(defined, key=lambda each: (each[0][0], -each[0][1])):
        while around and around[-1] <= begin:
            around.pop()
        found.append(Symbol(name, kind, line, len(around) + 1))
        around.append(end)
    return found[:_OUTLINE_SYMBOLS_MAX]


def _definitions(grammar: Grammar, source: bytes) -> dict[tuple[int, int], tuple[str, str, int]]:
    """Kind, name and line by the place of each definition. A method is also matched as a function, and first."""
    from tree_sitter import Language, Parser, Query, QueryCursor

    language = Language(getattr(import_module(grammar.module), grammar.function)())
    modules = grammar.query_modules or (grammar.module,)
    query = Query(language, "\n".join(import_module(name).TAGS_QUERY for name in modules))
    found: dict[tuple[int, int], tuple[str, str, int]] = {}
    for _pattern, captured in QueryCursor(query).matches(Parser(language).parse(source).root_node):
        for label in captured:
            if label.startswith(_DEFINITION) and "name" in captured:
                [node, *_], [name, *_] = captured[label], captured["name"]
                place, kind = (node.start_byte, node.end_byte), label.removeprefix(_DEFINITION)
                if place not in found or kind == "method":
                    found[place] = kind, _text(name), name.start_point[0] + 1
    return found


def _text(node: Any) -> str:
    written: str = node.text.decode(errors="replace")
    return " ".join(written.split())[:_OUTLINE_NAME_CHARS_MAX]


if __name__ == "__main__":
    main()
