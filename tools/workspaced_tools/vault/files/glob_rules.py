"""Ignore rules: compiles globs in gitignore's syntax and matches paths. No I/O.

The library `pathspec` translates the globs. It lets a later `!rule` bring back a file of a denied folder; git does
not. So this module checks folders first, from the root down, and everything in a denied folder stays denied
(gitignore(5): "It is not possible to re-include a file if a parent directory of that file is excluded").
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from workspaced_events.errors import WorkspacedError

RULE_CHARS_MAX: Final = 1_024
RULE_WILDCARDS_MAX: Final = 8
"""The number of parts of a rule that match any number of characters: matching takes longer with each."""
KNOWN_PATHS_MAX: Final = 65_536

# `*` before a fixed text before another `*` in one path component: the first match of the text is as good as any.
_STARS: Final = re.compile(r"\[\^/\]\*((?:\[\^/\]|[^/(\[])*?)(?=\[\^/\]\*)")
_WITHIN: Final = "ps_d"
"""The group with which pathspec's patterns match paths inside a named folder."""


class RuleInvalid(WorkspacedError):
    """A line is no valid rule. `details["line"]` is its 1-based number if it came from a list of lines."""

    code = "INVALID_ARGUMENT"


class Rule(NamedTuple):
    """One compiled rule."""

    matches: Callable[[str], bool]
    denies: bool
    """False for a rule with `!`."""
    text: str
    line: int
    """The 1-based line in the source."""
    source: str
    """The setting or file of the rule."""


class Rules(Protocol):
    """Rules in force."""

    @property
    def digest(self) -> str:
        """Equal digests deny equal paths."""
        ...

    @property
    def problem(self) -> str | None:
        """Why every path is denied, for people; None if not. Names no path of the host."""
        ...

    def denies(self, path: str) -> bool:
        """Whether the note at `path`, a vault-relative path, is denied."""
        ...

    def why(self, path: str) -> str | None:
        """For people: the rule that denies `path`; None if none does."""
        ...


class RuleList:
    """Implements `Rules` over compiled rules; the last match counts. Safe from any thread."""

    problem = None

    def __init__(self, rules: Sequence[Rule], digest: str) -> None:
        self.digest = digest
        self._rules = tuple(reversed(rules))
        self._known: dict[str, bool] = {}

    def denies(self, path: str) -> bool:
        if not self._rules:
            return False
        known = self._known.get(path)
        if known is None:
            known = self._denies_path(unicodedata.normalize("NFC", path))
            self._remember(path, known)
        return known

    def why(self, path: str) -> str | None:
        path = unicodedata.normalize("NFC", path)
        ends = [end + 1 for end, char in enumerate(path) if char == "/"]
        for part in (*(path[:end] for end in ends), path):
            rule = self._last(part)
            if rule is not None and rule.denies:
                return f"the rule {rule.text!r}, {rule.source}, line {rule.line}, matches {part!r}"
        return None

    def __len__(self) -> int:
        return len(self._rules)

    def _denies_path(self, path: str) -> bool:
        end = path.find("/")
        while end >= 0:
            folder = path[: end + 1]
            known = self._known.get(folder)
            if known is None:
                known = self._is_denied(folder)
                self._remember(folder, known)
            if known:
                return True
            end = path.find("/", end + 1)
        return self._is_denied(path)

    def _is_denied(self, path: str) -> bool:
        rule = self._last(path)
        return rule is not None and rule.denies

    def _last(self, path: str) -> Rule | None:
        """The last rule that matches exactly this path; a folder's path ends in a slash."""
        return next((rule for rule in self._rules if rule.matches(path)), None)

    def _remember(self, path: str, known: bool) -> None:
        if len(self._known) >= KNOWN_PATHS_MAX:
            self._known = {}
        self._known[path] = known


class EverythingDenied:
    """Implements `Rules`: denies every path, with a reason."""

    def __init__(self, why: str) -> None:
        self.problem = f"{why} Every note is withheld until this is mended."
        self.digest = digest_of("everything")

    def denies(self, path: str) -> bool:  # noqa: ARG002
        return True

    def why(self, path: str) -> str | None:  # noqa: ARG002
        return self.problem


class AnyOf:
    """Implements `Rules`: denies a path if one of several `Rules` does."""

    def __init__(self, rules: Sequence[Rules]) -> None:
        self._all = tuple(rules)
        self.digest = digest_of("any of", *sorted(each.digest for each in rules))
        self.problem = next((each.problem for each in rules if each.problem is not None), None)

    def denies(self, path: str) -> bool:
        return any(each.denies(path) for each in self._all)

    def why(self, path: str) -> str | None:
        return next(filter(None, (each.why(path) for each in self._all)), None)


def compile_rules(
    lines: Iterable[str], *, ignore_case: bool = False, comments: bool = False, source: str = "the setting deny"
) -> list[Rule]:
    """Compiles the rules of these lines, in their order.

    Args:
        lines: gitignore's syntax, one rule each.
        ignore_case: whether `A` matches `a`.
        comments: whether lines may be empty or comments.
        source: the origin of the lines, for people.

    Raises:
        RuleInvalid: a line is no valid rule; `details["line"]` says which.
    """
    rules = []
    for number, line in enumerate(lines, start=1):
        try:
            compiled = _compile(unicodedata.normalize("NFC", line), ignore_case)
        except RuleInvalid as error:
            raise RuleInvalid(error.message, hint=error.hint, line=number) from None
        if compiled is not None:
            rules.append(Rule(*compiled, line.strip(), number, source))
        elif not comments:
            raise RuleInvalid("Expected a glob, got an empty line or a comment.", line=number)
    return rules


def digest_of(*parts: object) -> str:
    """A short digest of the parts' texts."""
    made = hashlib.sha256()
    for part in parts:
        made.update(f"{part}\n".encode(errors="surrogatepass"))
    return made.hexdigest()[:16]


def _compile(line: str, ignore_case: bool) -> tuple[Callable[[str], bool], bool] | None:
    """A line's matcher, and whether the line denies; None for an empty line or a comment."""
    if not line.strip() or line.startswith("#"):
        return None
    if len(line) > RULE_CHARS_MAX:
        raise RuleInvalid(f"Expected a glob of at most {RULE_CHARS_MAX} characters, got {len(line)}.")
    if "\0" in line or "\n" in line:
        raise RuleInvalid("Expected a glob on one line, got a control character in it.")
    if line.rstrip().endswith("/**/"):
        raise RuleInvalid("A glob that ends in /**/ is not supported.", hint="End it in /** or in /*/ instead.")
    if "[:" in line:
        raise RuleInvalid("Classes such as [:alpha:] are not supported.", hint="Write [a-z] instead.")
    try:
        regex, denies = GitIgnoreSpecPattern.pattern_to_regex(line)
        if regex is None or denies is None:
            raise ValueError
        regex = _STARS.sub(r"(?>[^/]*?\1)", regex)
        if regex.count("[^/]*") - regex.count("(?>[^/]*?") + regex.count(".+") > RULE_WILDCARDS_MAX:
            raise RuleInvalid("Too many wildcards in one glob.", hint="Write several plainer ones.")
        # DOTALL: a name may hold a newline.
        compiled = re.compile(regex, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    except RuleInvalid:
        raise
    except Exception:  # Any error of the library means an invalid rule; a Warning of `re` comes here too.
        raise RuleInvalid("Not a glob in gitignore's syntax.", hint="See gitignore(5).") from None
    if _WITHIN not in compiled.groupindex:
        return lambda path: compiled.search(path.removesuffix("/")) is not None, denies
    # The pattern also matches paths below the named folder or file; only the named path itself counts here.
    return lambda path: any(found.end() == len(path) for found in compiled.finditer(path)), denies
