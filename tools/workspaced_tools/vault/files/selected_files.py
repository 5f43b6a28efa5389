"""Which files that are no Markdown belong to a vault: globs name them, and `.gitignore` leaves some out.

Markdown always belongs, as if there were neither. Images are not selected: they are shown with the notes that
embed them. What is withheld is decided elsewhere (`ignore_rules`): `.gitignore` says what is worth reading, not
what is secret.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pathspec import GitIgnoreSpec

from workspaced_events.ids import is_markdown

from ...notes.images.types import is_image_name
from .glob_rules import compile_rules, digest_of


class FileChoice(NamedTuple):
    """The settings of a vault."""

    globs: tuple[str, ...] = ()
    """In gitignore's syntax, from the vault's root; `!` takes out what a glob before it names."""
    gitignore: bool = True
    """Whether `.gitignore` files in the vault count."""


MARKDOWN_ONLY: Final = FileChoice()


class SelectedFiles:
    """The files that globs name. Safe from any thread."""

    def __init__(self, choice: FileChoice = MARKDOWN_ONLY) -> None:
        """
        Raises:
            RuleInvalid: one of the globs is invalid; `details["line"]` is its 1-based number.
        """
        self.choice: Final = choice
        self.digest: Final = digest_of(choice.gitignore, *choice.globs) if choice.globs else ""
        """Differs between choices that select other files; empty if none are selected."""
        check_globs(choice.globs)
        self._spec = GitIgnoreSpec.from_lines(choice.globs) if choice.globs else None

    def names(self, path: str) -> bool:
        """Whether the globs name the file at `path`, which is no Markdown. No I/O; `.gitignore` does not count."""
        if self._spec is None or is_markdown(path) or is_image_name(path):
            return False
        return self._spec.match_file(path)

    def may_hold(self, path: str) -> bool:
        """Whether a file at `path` is Markdown, or one that the globs name. No I/O."""
        return is_markdown(path) or self.names(path)

    @property
    def is_empty(self) -> bool:
        """Whether only Markdown belongs."""
        return self._spec is None


def check_globs(globs: Sequence[str]) -> None:
    """
    Raises:
        RuleInvalid: one of the globs is invalid; `details["line"]` is its 1-based number.
    """
    compile_rules(globs, source="the setting files")
