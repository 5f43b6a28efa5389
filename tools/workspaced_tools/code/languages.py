"""The language of a file, by its name, and the grammar that its outline needs.

Those languages have an outline with a maintained package that carries the grammar and a query for definitions. The
extra `code` installs them; nothing is fetched when the program runs.
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


def language_of(path: str) -> str | None:
    """The language's name; None if the file's name does not tell it."""
    return _LANGUAGES.get(_suffix(path))


def grammar_of(path: str) -> Grammar | None:
    """The grammar of the file at `path`; None if there is none."""
    return _GRAMMARS.get(_suffix(path))


def _suffix(path: str) -> str:
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return suffix.casefold() if dot else ""


_LANGUAGES: Final = {
    **dict.fromkeys(("md", "markdown"), "Markdown"),
    **dict.fromkeys(("c", "h"), "C"),
    **dict.fromkeys(("cc", "cpp", "hpp"), "C++"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "JavaScript"),
    **dict.fromkeys(("ts", "tsx"), "TypeScript"),
    **dict.fromkeys(("sh", "bash"), "Shell"),
    **dict.fromkeys(("yaml", "yml"), "YAML"),
    **dict.fromkeys(("html", "htm"), "HTML"),
    "canvas": "JSON Canvas",
    "cs": "C#",
    "css": "CSS",
    "csv": "CSV",
    "go": "Go",
    "java": "Java",
    "json": "JSON",
    "kt": "Kotlin",
    "lua": "Lua",
    "org": "Org",
    "php": "PHP",
    "py": "Python",
    "r": "R",
    "rb": "Ruby",
    "rs": "Rust",
    "rst": "reStructuredText",
    "sql": "SQL",
    "swift": "Swift",
    "tex": "LaTeX",
    "toml": "TOML",
    "txt": "plain text",
    "xml": "XML",
}
"""By suffix."""
# TypeScript's query has only what JavaScript lacks.
_TYPESCRIPT: Final = ("tree_sitter_javascript", "tree_sitter_typescript")
_GRAMMARS: Final = {
    **dict.fromkeys(("c", "h"), Grammar("tree_sitter_c")),
    **dict.fromkeys(("cc", "cpp", "cxx", "hh", "hpp", "hxx"), Grammar("tree_sitter_cpp")),
    **dict.fromkeys(("cjs", "js", "jsx", "mjs"), Grammar("tree_sitter_javascript")),
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
"""By suffix."""
