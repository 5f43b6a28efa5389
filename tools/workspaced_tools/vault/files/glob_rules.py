"""Ignore rules: compiles globs in gitignore's syntax, and gives paths their levels. No I/O.

A file of rules has sections: a line `#: on-request` gives the rules below it that level, up to the next such line.
Above the first section rules mean `never`. To programs that know no sections these lines are comments, so they
deny what the rules below them name. Therefore a rule with `!` lifts all rules above it in every section, as it
does there.

The library `pathspec` translates the globs. It lets a later `!rule` bring back a file of a denied folder; git does
not. So this module checks folders first, from the root down, and everything in a denied folder stays denied
(gitignore(5): "It is not possible to re-include a file if a parent directory of that file is excluded").
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from workspaced_events.errors import WorkspacedError

from ...notes.note import LEVELS, Level

_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""
RULE_CHARS_MAX: Final = 1_024
RULE_WILDCARDS_MAX: Final = 8
"""The number of parts of a rule that match any number of characters: matching takes longer with each."""
KNOWN_PATHS_MAX: Final = 65_536
_SECTION: Final = "#:"
"""A line that begins with it begins a section; behind it stands a level."""

# `*` before a fixed text before another `*` in one path component: the first match of the text is as good as any.
_STARS: Final = re.compile(r"\[\^/\]\*((?:\[\^/\]|[^/(\[])*?)(?=\[\^/\]\*)")
_PREFIXED: Final = re.compile(r"(?!!)([^*?\[\\]*[^*?\[\\/])\*\*/(.+)")
"""A text before `**/`: git compares the text, and takes the rest for a glob of its own."""
_MORE_STARS: Final = re.compile(r"\*{3,}")
_CLASS: Final = re.compile(r"(?<!\\)\[[!^]?\]?[^\]]*[\[\\]")
_NEGATED: Final = re.compile(r"\[\^(?![/-])")
_WITHIN: Final = "ps_d"
"""The group with which pathspec's patterns match paths inside a named folder."""


class RuleInvalid(WorkspacedError):
    """A line is no valid rule. `details["line"]` is its 1-based number if it came from a list of lines."""

    code = "INVALID_ARGUMENT"


class Rule(NamedTuple):
    """One compiled rule."""

    matches: Callable[[str], bool]
    level: Level
    """Of the paths that it matches, as far as this rule decides."""
    lifts: bool
    """Whether it has a `!`, so that no rule before it counts. Its level is VOLUNTEER."""
    text: str
    line: int
    """The 1-based line in the source."""
    source: str
    """The setting or file of the rule."""


class Rules(Protocol):
    """Rules in force."""

    @property
    def digest(self) -> str:
        """Equal digests give equal levels to equal paths."""
        ...

    @property
    def problem(self) -> str | None:
        """Why every path is denied, for people; None if not. Names no path of the host."""
        ...

    def level(self, path: str) -> Level:
        """The level of the note at `path`, a vault-relative path."""
        ...

    def why(self, path: str) -> str | None:
        """For people: the rule that gives `path` its level; None if that is VOLUNTEER."""
        ...


class RuleList:
    """Implements `Rules` over compiled rules. Safe from any thread.

    Three lists give a path a level each, and the least counts; within a list the last match counts. A rule of
    `own` with `!` also lifts the rules of `deny`, as if these stood above it.
    """

    problem = None

    def __init__(self, deny: Sequence[Rule], own: Sequence[Rule], on_request: Sequence[Rule], digest: str) -> None:
        """`deny` and `on_request` are the rules of the settings, `own` those of the vault."""
        self.digest = digest
        self._deny = tuple(reversed(deny))
        self._own = tuple(reversed(own))
        self._on_request = tuple(reversed(on_request))
        self._any = bool(deny or own or on_request)
        self.rules: Final = (*deny, *on_request, *own)
        self._known: dict[str, Level] = {}

    def level(self, path: str) -> Level:
        if not self._any:
            return _VOLUNTEER
        known = self._known.get(path)
        if known is None:
            known = self._level_of_path(unicodedata.normalize("NFC", path))
            self._remember(path, known)
        return known

    def why(self, path: str) -> str | None:
        path = unicodedata.normalize("NFC", path)
        ends = [end + 1 for end, char in enumerate(path) if char == "/"]
        deciding = [
            (rule, part) for part in (*(path[:end] for end in ends), path) for rule in self._deciding(part)
        ]
        if not deciding:
            return None
        rule, part = min(deciding, key=lambda each: each[0].level)
        return f"the rule {rule.text!r}, {rule.source}, line {rule.line}, matches {part!r}"

    def _level_of_path(self, path: str) -> Level:
        """The least level of the path and the folders above it."""
        found, end = _VOLUNTEER, path.find("/")
        while end >= 0:
            folder = path[: end + 1]
            known = self._known.get(folder)
            if known is None:
                known = self._level_of_part(folder)
                self._remember(folder, known)
            found = min(found, known)
            end = path.find("/", end + 1)
        return min(found, self._level_of_part(path)) if found is not Level.NEVER else found

    def _level_of_part(self, path: str) -> Level:
        return min((rule.level for rule in self._deciding(path)), default=_VOLUNTEER)

    def _deciding(self, path: str) -> list[Rule]:
        """The rules that lower the level of exactly this path; a folder's path ends in a slash."""
        own, asked = _last(self._own, path), _last(self._on_request, path)
        denied = _last(self._deny, path) if own is None or not own.lifts else None
        return [rule for rule in (own, denied, asked) if rule is not None and rule.level is not _VOLUNTEER]

    def _remember(self, path: str, known: Level) -> None:
        if len(self._known) >= KNOWN_PATHS_MAX:
            self._known = {}
        self._known[path] = known


def _last(rules: Sequence[Rule], path: str) -> Rule | None:
    """The first of `rules`, which stand in reverse, that matches."""
    return next((rule for rule in rules if rule.matches(path)), None)


class EverythingDenied:
    """Implements `Rules`: denies every path, with a reason."""

    def __init__(self, why: str) -> None:
        self.problem = f"{why} Every note is withheld until this is mended."
        self.digest = digest_of("everything")

    def level(self, path: str) -> Level:  # noqa: ARG002
        return Level.NEVER

    def why(self, path: str) -> str | None:  # noqa: ARG002
        return self.problem


class Strictest:
    """Implements `Rules`: the least level of several `Rules` counts."""

    def __init__(self, rules: Sequence[Rules]) -> None:
        self._all = tuple(rules)
        self.digest = digest_of("any of", *sorted(each.digest for each in rules))
        self.problem = next((each.problem for each in rules if each.problem is not None), None)

    def level(self, path: str) -> Level:
        return min(each.level(path) for each in self._all)

    def why(self, path: str) -> str | None:
        return min(self._all, key=lambda each: each.level(path)).why(path)


def compile_rules(
    lines: Iterable[str],
    *,
    ignore_case: bool = False,
    is_file: bool = False,
    source: str = "the setting deny",
    level: Level = Level.NEVER,
) -> list[Rule]:
    """Compiles the rules of these lines, in their order.

    Args:
        lines: gitignore's syntax, one rule each.
        ignore_case: whether `A` matches `a`.
        is_file: whether lines may be empty, comments, or begin sections.
        source: the origin of the lines, for people.
        level: of the rules, up to the first section.

    Raises:
        RuleInvalid: a line is no valid rule; `details["line"]` says which.
    """
    rules = []
    for number, line in enumerate(lines, start=1):
        try:
            if is_file and line.startswith(_SECTION):
                level = _section(line)
                continue
            compiled = _compile(unicodedata.normalize("NFC", line), ignore_case)
            if compiled is None and not is_file:
                raise RuleInvalid("Expected a glob, got an empty line or a comment.")
            if compiled is not None and not compiled[1] and level is _VOLUNTEER:
                raise RuleInvalid(f"A rule with ! has no meaning below {_SECTION} {level.word}.")
        except RuleInvalid as error:
            raise RuleInvalid(error.message, hint=error.hint, line=number) from None
        if compiled is not None:
            matches, plain = compiled
            given = level if plain else _VOLUNTEER
            rules.append(Rule(matches, given, not plain, line.rstrip(), number, source))
    return rules


def _section(line: str) -> Level:
    """The level of the rules below this line.

    Raises:
        RuleInvalid: there is no such level.
    """
    name = line.removeprefix(_SECTION).strip()
    if name not in LEVELS:
        raise RuleInvalid(
            f"There is no section {name[:40]!r}; sections are {', '.join(LEVELS)}.",
            hint=f"Begin a comment with # and a blank, a section with {_SECTION}.",
        )
    return LEVELS[name]


def digest_of(*parts: object) -> str:
    """A short digest of the parts' texts."""
    made = hashlib.sha256()
    for part in parts:
        made.update(f"{part}\n".encode(errors="surrogatepass"))
    return made.hexdigest()[:16]


def _compile(line: str, ignore_case: bool) -> tuple[Callable[[str], bool], bool] | None:
    """A line's matcher, and whether the line is without `!`; None for an empty line or a comment."""
    if not line.strip() or line.startswith("#"):
        return None
    if len(line) > RULE_CHARS_MAX:
        raise RuleInvalid(f"Expected a glob of at most {RULE_CHARS_MAX} characters, got {len(line)}.")
    if "\0" in line or "\n" in line:
        raise RuleInvalid("Expected a glob on one line, got a control character in it.")
    if line.rstrip().endswith("/**/"):
        raise RuleInvalid("A glob that ends in /**/ is not supported.", hint="End it in /** or in /*/ instead.")
    if _CLASS.search(line):
        raise RuleInvalid(
            "A class that holds [ or \\, such as [[:alpha:]], is not supported.", hint="Write [a-z]."
        )
    line = _MORE_STARS.sub("**", line)
    matches = _matcher(line, ignore_case)
    if matches is None:
        raise RuleInvalid("Not a glob in gitignore's syntax.", hint="See gitignore(5).")
    if (prefixed := _PREFIXED.fullmatch(line)) is not None:
        prefix, rest = prefixed.groups()
        others = [_matcher(each, ignore_case) for each in (f"{prefix}*/**/{rest}", f"{prefix}{rest}")]
        ways = [each for each in (matches, *others) if each is not None]
        return lambda path: any(way(path) for way in ways), True
    return matches, not line.startswith("!")


def _matcher(line: str, ignore_case: bool) -> Callable[[str], bool] | None:
    """Whether a glob names exactly a path, whatever a `!` before it says; None: it is no glob.

    Raises:
        RuleInvalid: it has too many wildcards.
    """
    try:
        regex, _ = GitIgnoreSpecPattern.pattern_to_regex(line)
        if regex is None:
            return None
        regex = _NEGATED.sub("[^/", _STARS.sub(r"(?>[^/]*?\1)", regex))
        # DOTALL: a name may hold a newline.
        compiled = re.compile(regex, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    except Exception:  # Any error of the library means an invalid rule.
        return None
    if regex.count("[^/]*") - regex.count("(?>[^/]*?") + regex.count(".+") > RULE_WILDCARDS_MAX:
        raise RuleInvalid("Too many wildcards in one glob.", hint="Write several plainer ones.")
    if _WITHIN not in compiled.groupindex:
        return lambda path: compiled.search(path.removesuffix("/")) is not None
    # The pattern also matches paths below the named folder or file; only the named path itself counts here.
    return lambda path: any(found.end() == len(path) for found in compiled.finditer(path))


class IdleRule(msgspec.Struct, frozen=True):
    """A rule that matches neither a file nor a folder at present."""

    rule: str
    source: str
    """The setting or file of the rule."""
    line: int


def idle_rules(rules: Sequence[Rule], paths: Iterable[str]) -> list[IdleRule]:
    """The rules that match none of these vault-relative paths of files, nor a folder above one.

    Git reads `./secret.md`, `keep\\secret.md` and `{secret,diary}.md` as names that hardly any file has. Such a
    rule withholds nothing, and nothing else would tell.
    """
    parts = {part for path in paths for part in _parts(path)}
    return [IdleRule(rule.text, rule.source, rule.line) for rule in rules if not any(map(rule.matches, parts))]


def _parts(path: str) -> Iterator[str]:
    """The path, and the folders above it as rules match them."""
    yield path
    end = path.find("/")
    while end >= 0:
        yield path[: end + 1]
        end = path.find("/", end + 1)
