"""The language of a file, by its name."""

from typing import Final


def language_of(path: str) -> str | None:
    """The language's name; None if the file's name does not tell it."""
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _LANGUAGES.get(suffix.casefold()) if dot else None


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
