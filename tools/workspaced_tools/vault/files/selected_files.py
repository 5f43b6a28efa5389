"""Which files of a vault are notes, and which are other files that may be shown.

Notes are indexed: Markdown, canvases, and text files that globs name. Any other file is known by its name, and
opened only where an editor shows it or a link names it (see other_files). `.gitignore` leaves out all but
Markdown. It says what is worth reading, not what is secret: that is decided elsewhere (`ignore_rules`).
"""

from typing import Final, NamedTuple

from pathspec import GitIgnoreSpec

from workspaced_events.ids import is_markdown

from ...notes.formats.kinds import ATTACHED, ending_of, is_canvas, is_image_name
from .glob_rules import compile_rules, digest_of


class FileChoice(NamedTuple):
    """The settings of a vault."""

    globs: tuple[str, ...] = ()
    """In gitignore's syntax, from the vault's root; `!` takes out what a glob before it names."""
    gitignore: bool = True
    """Whether `.gitignore` files in the vault count."""


ALL_DEFAULT: Final = FileChoice()


class SelectedFiles:
    """The files that are notes. Safe from any thread."""

    def __init__(self, choice: FileChoice = ALL_DEFAULT) -> None:
        """
        Raises:
            RuleInvalid: one of the globs is invalid; `details["line"]` is its 1-based number.
        """
        self.choice: Final = choice
        self.digest: Final = digest_of(choice.gitignore, *choice.globs) if choice != ALL_DEFAULT else ""
        """Differs between choices that select other files."""
        compile_rules(choice.globs, source="the setting files")  # only to check them
        self._spec = GitIgnoreSpec.from_lines(choice.globs) if choice.globs else None

    def holds(self, path: str) -> bool:
        """Whether a file at `path` is a note. No I/O; `.gitignore` does not count."""
        if is_markdown(path) or is_canvas(path):
            return True
        return self._spec is not None and not is_image_name(path) and self._spec.match_file(path)

    def is_attachment(self, path: str) -> bool:
        """Whether a file at `path` is withheld with the notes that name it, which only the index knows."""
        return not self.holds(path) and ending_of(path) in ATTACHED
