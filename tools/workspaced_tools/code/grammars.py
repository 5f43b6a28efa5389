"""The languages whose files have an outline: those with a maintained package that carries the grammar and a query
for definitions. The extra `code` installs them; nothing is fetched when the program runs.
"""

from importlib.util import find_spec
from typing import Final, NamedTuple


class Grammar(NamedTuple):
    """Where a language's parser is, and what finds its definitions."""

    module: str
    function: str = "language"
    """The function of the module that gives the parser."""
    query_modules: tuple[str, ...] = ()
    """The modules whose queries are put together; empty: the parser's own."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What is imported, which pip installs by the same names."""
        return tuple(dict.fromkeys(("tree_sitter", self.module, *self.query_modules)))

    @property
    def is_installed(self) -> bool:
        return all(find_spec(name) is not None for name in self.packages)


def grammar_of(path: str) -> Grammar | None:
    """The grammar of the file at `path`, by its ending; None if there is none."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _GRAMMARS.get(ending.casefold()) if dot else None


_JAVASCRIPT: Final = Grammar("tree_sitter_javascript")
# TypeScript's query has only what JavaScript lacks.
_TYPESCRIPT: Final = ("tree_sitter_javascript", "tree_sitter_typescript")
_GRAMMARS: Final = {
    **dict.fromkeys(("c", "h"), Grammar("tree_sitter_c")),
    **dict.fromkeys(("cc", "cpp", "cxx", "hh", "hpp", "hxx"), Grammar("tree_sitter_cpp")),
    **dict.fromkeys(("cjs", "js", "jsx", "mjs"), _JAVASCRIPT),
    **dict.fromkeys(("cts", "mts", "ts"), Grammar("tree_sitter_typescript", "language_typescript", _TYPESCRIPT)),
    **dict.fromkeys(("py", "pyi"), Grammar("tree_sitter_python")),
    "go": Grammar("tree_sitter_go"),
    "java": Grammar("tree_sitter_java"),
    "lua": Grammar("tree_sitter_lua"),
    "php": Grammar("tree_sitter_php", "language_php"),
    "rb": Grammar("tree_sitter_ruby"),
    "rs": Grammar("tree_sitter_rust"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
}
"""By ending."""
