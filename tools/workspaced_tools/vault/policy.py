"""`Policy`: which notes of a vault no agent is shown.

Two sources: glob rules (the setting `deny`, then the file `.workspacedignore` at the vault's root) and a flag in a
note's front matter. Rules have gitignore's syntax and meaning; the library `pathspec` translates them. It lets a
later `!rule` bring back a file of a denied folder, which git does not: so folders are asked here first, from the
root down, and what lies in a denied one stays denied (gitignore(5): "It is not possible to re-include a file if a
parent directory of that file is excluded").

Everything fails closed: rules that cannot be read, or a line that cannot be understood, withhold every note.
"""

import errno
import hashlib
import os
import re
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from workspaced_events.errors import WorkspacedError

from ..errors import ReadFailed
from ..limits import FRONT_MATTER_CHARS_MAX, UNCERTAIN_NS
from .frontmatter import FrontMatter, split_front_matter
from .note import Note
from .paths import RootDirectory, VaultRoot

IGNORE_FILE: Final = ".workspacedignore"
IGNORE_BYTES_MAX: Final = 64 * 1024
RULES_MAX: Final = 2_000
RULE_CHARS_MAX: Final = 1_024
RULE_WILDCARDS_MAX: Final = 8
"""How many parts of one rule may take any number of characters: matching takes longer with each."""
KNOWN_PATHS_MAX: Final = 65_536

_DENIED_WORD: Final = "private"
_KEY: Final = "workspaced"
_NEGATIVE: Final = frozenset({"false", "no", "off", "0"})
# `*` before a fixed text before another `*` of the same name: the first place that fits is as good as any other.
_STARS: Final = re.compile(r"\[\^/\]\*((?:\[\^/\]|[^/(\[])*?)(?=\[\^/\]\*)")
_WITHIN: Final = "ps_d"
"""The group by which pathspec's patterns match what lies within a folder that they name."""
_LATE_OPENING: Final = re.compile(rb"[\s\0\xef\xbb\xbf\xbd\xfe\xff]*-\0*-\0*-")


class RuleInvalid(WorkspacedError):
    """A line is no rule. `details["line"]` is its 1-based number, where it came from several."""

    code = "INVALID_ARGUMENT"


class _Rule(NamedTuple):
    matches: Callable[[str], bool]
    denies: bool
    """False: `!`."""


class _Rules:
    """Rules in force, and what was found by them. Immutable but for what it remembers."""

    def __init__(self, rules: Sequence[_Rule], digest: str, problem: str | None) -> None:
        self.digest = digest
        self.problem = problem
        self._rules = tuple(reversed(rules))
        self._known: dict[str, bool] = {}

    def denies(self, path: str) -> bool:
        if self.problem is not None:
            return True
        if not self._rules:
            return False
        known = self._known.get(path)
        if known is None:
            known = self._asked(unicodedata.normalize("NFC", path))
            self._remember(path, known)
        return known

    def _asked(self, path: str) -> bool:
        end = path.find("/")
        while end >= 0:
            folder = path[: end + 1]
            known = self._known.get(folder)
            if known is None:
                known = self._last(folder)
                self._remember(folder, known)
            if known:
                return True
            end = path.find("/", end + 1)
        return self._last(path)

    def _last(self, path: str) -> bool:
        """What the last rule that matches exactly this path says; a folder's ends in a slash."""
        for rule in self._rules:
            if rule.matches(path):
                return rule.denies
        return False

    def _remember(self, path: str, known: bool) -> None:
        if len(self._known) >= KNOWN_PATHS_MAX:
            self._known = {}
        self._known[path] = known


class _Seen(NamedTuple):
    """What `.workspacedignore` was when it was looked at."""

    root: tuple[int, int]
    file: tuple[int, ...] | None
    """Its stat; None: there was none."""
    certain: bool
    """Whether an equal stat means equal bytes."""


class Policy:
    """See above. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        deny: Sequence[str] = (),
        *,
        ignore_case: bool = sys.platform == "darwin",
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`deny`: rules that come before the file's. `ignore_case` is for file systems where `A` names `a`.

        Raises:
            RuleInvalid: one of `deny` is no rule.
        """
        self._root = root
        self._deny = tuple(deny)
        self._ignore_case = ignore_case
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        self._settings = compile_rules(self._deny, ignore_case=ignore_case)
        self._rules = self._withhold_all("The share policy was not read yet.")
        self.refresh()

    def refresh(self) -> bool:
        """Looks at `.workspacedignore` and reads it if it changed; whether the rules are now others. Costs a stat.

        While the vault's folder is away the last known rules stay in force; also where another folder without such
        a file took its place, as an unmounted disk leaves one.
        """
        try:
            root = self._root.directory()
        except ReadFailed:
            if self._seen is not None:
                return False
            return self._put(self._withhold_all("The vault's folder cannot be opened, so nor can its rules."))
        seen = self._seen
        if seen is not None and seen.certain and (root.identity, _stat(root)) == seen[:2]:
            return False
        with self._lock:
            return self._put(self._read(root))

    def denies(self, path: str) -> bool:
        """Whether the rules withhold the note at `path`, a vault-relative path; touches no file."""
        return self._rules.denies(path)

    def is_private(self, note: Note) -> bool:
        """Whether the note itself says that it is private; see `says_private`."""
        known: bool | None = note.__dict__.get("private")
        if known is None:
            known = note.__dict__["private"] = says_private(note)
        return known

    def withholds(self, note: Note) -> bool:
        """Whether the note is withheld, by the rules or by itself."""
        return self._rules.denies(note.id) or self.is_private(note)

    @property
    def problem(self) -> str | None:
        """Why every note is withheld, for people; None while the rules are understood. Names no host path."""
        return self._rules.problem

    @property
    def digest(self) -> str:
        """Names the rules in force: equal digests withhold equal paths."""
        return self._rules.digest

    # -- pieces --

    def _put(self, rules: _Rules) -> bool:
        moved = rules.digest != self._rules.digest
        if moved or rules.problem != self._rules.problem:
            self._rules = rules
        return moved

    def _read(self, root: RootDirectory) -> _Rules:
        """The rules with those of the file as it is now; remembers what was seen of it."""
        before = self._seen
        try:
            status, content = self._root.read_root_file(IGNORE_FILE, IGNORE_BYTES_MAX + 1, root)
        except OSError as reason:
            if reason.errno != errno.ENOENT:
                self._seen = _Seen(root.identity, _stat(root), False)
                return self._withhold_all(_unreadable(reason))
            if before is not None and before.file is not None and before.root != root.identity:
                # An empty folder where a disk was mounted is no reason to show what its rules withheld.
                return self._rules
            self._seen = _Seen(root.identity, None, True)
            return self._compiled([])
        newest = max(status.st_mtime_ns, status.st_ctime_ns)
        self._seen = _Seen(root.identity, _key(status), self._clock_ns() - newest > UNCERTAIN_NS)
        if len(content) > IGNORE_BYTES_MAX:
            return self._withhold_all(f"{IGNORE_FILE} is larger than {IGNORE_BYTES_MAX} bytes.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as reason:
            line = content.count(b"\n", 0, reason.start) + 1
            return self._withhold_all(f"{IGNORE_FILE}, line {line}: not UTF-8.")
        return self._compiled([line.removesuffix("\r") for line in text.split("\n")])

    def _compiled(self, lines: Sequence[str]) -> _Rules:
        try:
            rules = [*self._settings, *compile_rules(lines, ignore_case=self._ignore_case, comments=True)]
        except RuleInvalid as error:
            return self._withhold_all(f"{IGNORE_FILE}, line {error.details['line']}: {error.message}")
        if len(rules) > RULES_MAX:
            return self._withhold_all(f"{IGNORE_FILE} and the setting deny hold more than {RULES_MAX} rules.")
        return _Rules(rules, _digest(self._ignore_case, *self._deny, *lines), None)

    def _withhold_all(self, why: str) -> _Rules:
        return _Rules((), _digest("everything"), f"{why} Every note is withheld until this is mended.")


def compile_rules(lines: Iterable[str], *, ignore_case: bool = False, comments: bool = False) -> list[_Rule]:
    """The rules of these lines, in their order.

    Args:
        lines: gitignore's syntax, one rule each.
        ignore_case: whether `A` matches `a`.
        comments: whether lines may be empty or comments.

    Raises:
        RuleInvalid: one is no rule; `details["line"]` says which.
    """
    rules = []
    for number, line in enumerate(lines, start=1):
        try:
            rule = _compile(unicodedata.normalize("NFC", line), ignore_case)
        except RuleInvalid as error:
            raise RuleInvalid(error.message, hint=error.hint, line=number) from None
        if rule is not None:
            rules.append(rule)
        elif not comments:
            raise RuleInvalid("Expected a glob, got an empty line or a comment.", line=number)
    return rules


def _compile(line: str, ignore_case: bool) -> _Rule | None:
    """The rule of a line; None where it is empty or a comment."""
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
    except Exception:  # Whatever the library makes of it, it is no rule; a Warning of `re` comes here too.
        raise RuleInvalid("Not a glob in gitignore's syntax.", hint="See gitignore(5).") from None
    if _WITHIN not in compiled.groupindex:
        return _Rule(lambda path: compiled.search(path.removesuffix("/")) is not None, denies)
    # It names a folder or file, and matches what is below too; here only the named one itself counts.
    return _Rule(lambda path: any(found.end() == len(path) for found in compiled.finditer(path)), denies)


# -- front matter --


def says_private(note: Note) -> bool:
    """Whether the note's front matter says that it is private.

    It does with `workspaced: private`, in any case, also as one of a list or within a longer text; with
    `workspaced: {private: true}` (anything but a plain no); with `workspaced: {share: X}` where X is not `all`.
    Front matter that cannot be read says so where the word `private` occurs in it, in any case. For this, front
    matter that begins after blank lines, or in UTF-16, is looked at as well.
    """
    if note.source.startswith(b"---"):
        return _is_private(note.front_matter)
    if _LATE_OPENING.match(note.source, 0, FRONT_MATTER_CHARS_MAX) is None:
        return False
    head = note.source[: 2 * FRONT_MATTER_CHARS_MAX].decode(errors="ignore").replace("\0", "")
    front = split_front_matter(head[head.index("-") :])
    return front.body_offset > 0 and _is_private(front)  # unclosed it is a mere rule above the text


def _is_private(front: FrontMatter) -> bool:
    if front.error is not None:
        return _DENIED_WORD in front.raw.casefold()
    return any(_says(value) for name, value in front.fields.items() if name.strip().casefold() == _KEY)


def _says(value: Any) -> bool:
    if isinstance(value, str):
        return _DENIED_WORD in re.findall(r"\w+", value.casefold())
    if isinstance(value, list):
        return any(_says(each) for each in value)
    if not isinstance(value, dict):
        return False
    for name, given in value.items():
        key, plain = name.strip().casefold(), str(given).strip().casefold()
        if (key == _DENIED_WORD and plain not in _NEGATIVE) or (key == "share" and plain != "all"):
            return True
    return False


# -- the file --


def _stat(root: RootDirectory) -> tuple[int, ...] | None:
    """What identifies the version of `.workspacedignore`; None where there is none."""
    try:
        return _key(os.stat(IGNORE_FILE, dir_fd=root.fd, follow_symlinks=False))
    except FileNotFoundError:
        return None
    except OSError:
        return ()


def _key(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unreadable(reason: OSError) -> str:
    if reason.errno in (errno.ELOOP, errno.EMLINK):
        return f"{IGNORE_FILE} is a symlink, which is never followed."
    return f"{IGNORE_FILE} cannot be read: {os.strerror(reason.errno or 0)}."


def _digest(*parts: object) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(f"{part}\n".encode(errors="surrogatepass"))
    return made.hexdigest()[:16]
