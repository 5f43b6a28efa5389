"""`Policy`: decides which ignore rules of a vault are in force.

Rules come from the settings `deny` and `on_request`, and from the file `.workspacedignore` at the vault's root
(see glob_rules). Editors write that file, its disk may be unmounted, and nothing else withholds its notes from
agents. So everything fails closed:

- Rules that cannot be read, or an invalid line, deny every note.
- New rules are in force at once. The former rules stay in force beside them until our own clock has seen the same
  file for SETTLE_S, an empty or absent file for SETTLE_EMPTY_S, since an editor may be in the middle of saving.
- A folder that lost its rules together with more than half of its notes counts as an unmounted disk: every note is
  denied until rules or notes return, or the person accepts the present rules. For this the rules last in force are
  kept from one start to the next (`RulesStore`). If those cannot be read, a folder without rules counts as one
  that lost them.
"""

import errno
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from workspaced_events.log.disk import RealDisk, read_regular, write_whole

from ...errors import ReadFailed
from ...limits import SETTLE_EMPTY_S, SETTLE_S, UNCERTAIN_NS
from ...notes.note import Level
from .glob_rules import EverythingDenied, Rule, RuleInvalid, RuleList, Rules, Strictest, compile_rules, digest_of
from .safe_open import RootDirectory, VaultRoot

_VERSION: Final = 1
_BYTES_MAX: Final = 256 * 1024
_log = logging.getLogger(__name__)


class StoredRules(msgspec.Struct, frozen=True):
    """The text of the rules' file, empty if there was none, and the number of the vault's notes."""

    text: str
    notes: int
    version: int = _VERSION


class RulesUnreadable(Exception):
    """The kept rules of a vault cannot be read."""


class RulesStore:
    """Keeps the ignore rules last in force in the data directory from one start to the next.

    Each vault has one file, readable by its owner only. It is no event and no blob, so it is never exported,
    bundled or sent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> StoredRules | None:
        """The kept rules; None if there are none.

        Raises:
            RulesUnreadable: the file exists and cannot be read.
        """
        try:
            kept = msgspec.json.decode(read_regular(self._path, 0, _BYTES_MAX), type=StoredRules)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RulesUnreadable(str(error)) from None
        if kept.version != _VERSION:
            raise RulesUnreadable(f"they are of version {kept.version}")
        return kept

    def save(self, kept: StoredRules) -> None:
        """Replaces the kept rules durably; if that fails, the former ones stay."""
        disk = RealDisk(self._path.parent.parent)
        try:
            disk.make_directory(self._path.parent.name)
            write_whole(disk, f"{self._path.parent.name}/{self._path.name}", msgspec.json.encode(kept))
        except OSError as error:
            _log.warning("the rules in force are not kept for the next start: %s", error.strerror)


_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""
IGNORE_FILE: Final = ".workspacedignore"
IGNORE_BYTES_MAX: Final = 64 * 1024
RULES_MAX: Final = 2_000
LINE_END: Final = re.compile(r"\r\n|\r(?!\])|\n")
"""Git knows no line that ends in a lone CR; such a file would be one comment, and withhold nothing. But the rule
`Icon[\\r]`, which many copy, holds one."""
_FORMER_MAX: Final = 6
"""The number of versions since the last settled one that stay in force if a file is saved many times."""
_LOST: Final = (
    f"{IGNORE_FILE} is gone together with most of the notes that were here. If the folder is meant to be like "
    "this, run `workspaced share accept-rules VAULT`."
)
_FORGOTTEN: Final = (
    f"There is no {IGNORE_FILE}, and what is kept of the rules last in force cannot be read. If there are to be "
    "no rules, run `workspaced share accept-rules VAULT`."
)


class Globs(NamedTuple):
    """The rules of the settings."""

    deny: tuple[str, ...] = ()
    on_request: tuple[str, ...] = ()


class _Seen(NamedTuple):
    """The state of `.workspacedignore` at the last check."""

    root: tuple[int, int]
    file: tuple[int, ...] | None
    """The file's stat; None: there was no file."""
    certain: bool
    """Whether an equal stat means equal bytes."""


class _Read(NamedTuple):
    """The rules in the present file."""

    rules: Rules
    text: str | None
    """The file's text; None if it is invalid, empty if there is no file."""
    is_empty: bool


class Policy:
    """The ignore rules in force; see the module's docstring. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        deny: Sequence[str] = (),
        on_request: Sequence[str] = (),
        *,
        keeper: RulesStore | None = None,
        ignore_case: bool = sys.platform == "darwin",
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            deny: rules that come before the file's.
            on_request: rules that give the level ON_REQUEST, beside the others.
            keeper: stores the rules in force for the next start.
            ignore_case: for file systems where `A` names `a`.
            clock_ns: the wall clock, for comparison with file times.
            clock_s: our own clock, which only goes forward.

        Raises:
            RuleInvalid: one of `deny` or `on_request` is no valid rule.
        """
        self.on_unsettled: Callable[[], object] = lambda: None
        """Called when the file must be checked again; `due_s` says when."""
        self._root = root
        self.globs: Final = Globs(tuple(deny), tuple(on_request))
        self._keeper = keeper
        self._ignore_case = ignore_case
        self._clock_ns = clock_ns
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        self._denied = compile_rules(self.globs.deny, ignore_case=ignore_case)
        self._requested = compile_rules(
            self.globs.on_request, ignore_case=ignore_case, source="the setting on_request", level=Level.ON_REQUEST
        )
        self._kept: StoredRules | None = None
        """The last settled rules, and the number of notes at that time."""
        self._is_forgotten = False
        """Whether the last settled rules are unknown because their file cannot be read."""
        try:
            self._kept = keeper.load() if keeper is not None else None
        except RulesUnreadable as error:
            self._is_forgotten = True
            _log.warning("the rules last in force cannot be read: %s", error)
        self._former: list[Rules] = [self._compiled(self._kept.text).rules] if self._kept is not None else []
        """In force beside the file's rules until these settle: the last settled rules, then versions since."""
        self._read_rules: _Read | None = None
        self._version = 0
        """Counts the versions of the file."""
        self._since_s = 0.0
        """When the present version was first seen."""
        self._is_counted = False
        """Whether a crawl since then has found most notes."""
        self._is_lost = False
        self._rules: Rules = EverythingDenied("The share policy was not read yet.")
        self.refresh()

    def refresh(self) -> bool:
        """Reads `.workspacedignore` if it changed; returns whether other rules are in force now.

        Costs a stat. While the vault's folder is absent the rules stay unchanged.
        """
        try:
            root = self._root.directory()
        except ReadFailed:
            if self._seen is not None:
                return False
            why = "The vault's folder cannot be opened, so nor can its rules."
            return self._put(EverythingDenied(why))
        seen = self._seen
        if seen is not None and seen.certain and not self._former and (root.identity, _stat(root)) == seen[:2]:
            return False
        with self._lock:
            version = self._version
            is_other = self._take(self._read(root))
            if seen is not None and self._seen is not None and seen.file != self._seen.file:
                self._since_s = self._clock_s()  # Written again, if with the same rules: it is still being saved.
            must_settle = self._former and self._version != version
        if must_settle:
            self.on_unsettled()
        return is_other

    def is_as_read(self) -> bool:
        """Whether `.workspacedignore` is still the version that was read last. Costs a stat."""
        seen = self._seen
        try:
            root = self._root.directory()
        except ReadFailed:
            return False
        return seen is not None and (root.identity, _stat(root)) == seen[:2]

    def level(self, path: str) -> Level:
        """The level that the rules give to the note at `path`, a vault-relative path. No I/O."""
        return self._rules.level(path)

    def denies(self, path: str) -> bool:
        """Whether the rules withhold the note at `path` from all that is shown unasked. No I/O."""
        return self._rules.level(path) is not _VOLUNTEER

    def why(self, path: str) -> str | None:
        """For people: the rule that gives `path` its level; None if that is VOLUNTEER."""
        return self._rules.why(path)

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules of the settings and of the present file; none while the file is invalid."""
        read = self._read_rules
        return read.rules.rules if read is not None and isinstance(read.rules, RuleList) else ()

    @property
    def problem(self) -> str | None:
        """Why every note is withheld, for people; None while the rules are valid. Names no host path."""
        return self._rules.problem

    @property
    def digest(self) -> str:
        """A digest of the rules in force: equal digests give equal levels to equal paths."""
        return self._rules.digest

    # -- settling --

    def due_s(self) -> float | None:
        """When, by our own clock, `refresh` may find the file settled; None if nothing must settle."""
        if not self._former or self._read_rules is None or self._is_lost:
            return None
        return self._since_s + (SETTLE_EMPTY_S if self._read_rules.is_empty else SETTLE_S)

    @property
    def wants_count(self) -> bool:
        """Whether only a count of the notes can show if the rules were lost together with them."""
        due_s = self.due_s()
        return due_s is not None and self._clock_s() >= due_s and not self._may_settle()

    def counted(self, notes: int, begun_s: float) -> None:
        """Takes the number of notes, withheld ones included, that a whole crawl found.

        `begun_s` is the start of the crawl by our own clock.
        """
        with self._lock:
            if self._former and begun_s >= self._since_s:
                most_are_gone = self._kept is not None and 2 * notes < self._kept.notes
                self._is_counted = not most_are_gone
                self._is_lost = most_are_gone and not self._may_settle()
                self._settle()
            if not self._former and not self._is_lost and not self._wants_rules():
                self._keep(notes)

    def accept(self) -> None:
        """Accepts the present rules: the person confirms the folder's present state."""
        with self._lock:
            self._kept = StoredRules("", 0) if self._is_forgotten else None
            self._is_lost, self._is_forgotten, self._former = False, False, []
            self._settle()

    def _take(self, read: _Read) -> bool:
        known = self._read_rules
        if known is None or known.rules.digest != read.rules.digest or known.is_empty != read.is_empty:
            if known is not None and known.text != "":  # an empty file adds nothing
                self._former = [*self._former[:1], *self._former[1:][-_FORMER_MAX:], known.rules]
            self._version += 1
            self._since_s = self._clock_s()
            self._is_counted = self._is_lost = False
        self._read_rules = read
        return self._settle()

    def _settle(self) -> bool:
        """Puts the file's rules and the former rules into force; returns whether the result differs."""
        read = self._read_rules
        if read is None:
            return False
        due_s = self.due_s()
        if due_s is not None and self._clock_s() >= due_s and self._may_settle():
            self._former = []
        if {each.digest for each in self._former} <= {read.rules.digest}:
            self._former = []
        if self._is_lost:
            return self._put(EverythingDenied(_LOST))
        if self._wants_rules():
            return self._put(EverythingDenied(_FORGOTTEN))
        if not self._former:
            return self._put(read.rules)
        if read.text == "" and len(self._former) == 1:
            return self._put(self._former[0])
        return self._put(Strictest([*self._former, read.rules]))

    def _wants_rules(self) -> bool:
        """Whether there is no file, and it is unknown whether there was one."""
        return self._is_forgotten and self._read_rules is not None and self._read_rules.text == ""

    def _may_settle(self) -> bool:
        """Whether an absent file can mean that the person wants no rules."""
        assert self._read_rules is not None
        has_lost_rules = self._read_rules.text == "" and self._kept is not None and self._kept.text != ""
        return self._is_counted or not has_lost_rules

    def _keep(self, notes: int) -> None:
        """Stores the rules in force and roughly the number of notes."""
        read, kept = self._read_rules, self._kept
        if read is None or read.text is None:
            return
        is_news = kept is None or kept.text != read.text or abs(kept.notes - notes) * 10 > kept.notes
        if is_news and (read.text or kept is not None):
            self._kept, self._is_forgotten = StoredRules(read.text, notes), False
            if self._keeper is not None:
                self._keeper.save(self._kept)

    def _put(self, rules: Rules) -> bool:
        is_other = rules.digest != self._rules.digest
        if is_other or rules.problem != self._rules.problem:
            self._rules = rules
        return is_other

    # -- reading --

    def _read(self, root: RootDirectory) -> _Read:
        """Reads the present file and remembers its stat."""
        try:
            status, content = self._root.read_root_file(IGNORE_FILE, IGNORE_BYTES_MAX + 1, root)
        except OSError as reason:
            if reason.errno != errno.ENOENT:
                self._seen = _Seen(root.identity, _stat(root), False)
                if reason.errno in (errno.ELOOP, errno.EMLINK):
                    return _broken(f"{IGNORE_FILE} is a symlink, which is never followed.")
                return _broken(f"{IGNORE_FILE} cannot be read: {os.strerror(reason.errno or 0)}.")
            self._seen = _Seen(root.identity, None, True)
            return self._compiled("")
        newest = max(status.st_mtime_ns, status.st_ctime_ns)
        self._seen = _Seen(root.identity, _key(status), self._clock_ns() - newest > UNCERTAIN_NS)
        if len(content) > IGNORE_BYTES_MAX:
            return _broken(f"{IGNORE_FILE} is larger than {IGNORE_BYTES_MAX} bytes.")
        try:
            return self._compiled(content.decode("utf-8-sig"))
        except UnicodeDecodeError as reason:
            line = len(LINE_END.split(content[: reason.start].decode(errors="replace")))
            return _broken(f"{IGNORE_FILE}, line {line}: not UTF-8.")

    def _compiled(self, text: str) -> _Read:
        lines = LINE_END.split(text)
        try:
            own = compile_rules(lines, ignore_case=self._ignore_case, is_file=True, source=IGNORE_FILE)
        except RuleInvalid as error:
            return _broken(f"{IGNORE_FILE}, line {error.details['line']}: {error.message}")
        if len(self._denied) + len(self._requested) + len(own) > RULES_MAX:
            return _broken(f"{IGNORE_FILE} and the settings hold more than {RULES_MAX} rules.")
        digest = digest_of(self._ignore_case, *self.globs.deny, "", *self.globs.on_request, "", *lines)
        rules = RuleList(self._denied, own, self._requested, digest)
        return _Read(rules, text, is_empty=not text)


def _broken(why: str) -> _Read:
    return _Read(EverythingDenied(why), None, is_empty=False)


def _stat(root: RootDirectory) -> tuple[int, ...] | None:
    """The stat that identifies the version of `.workspacedignore`; None if there is no file."""
    try:
        return _key(os.stat(IGNORE_FILE, dir_fd=root.fd, follow_symlinks=False))
    except FileNotFoundError:
        return None
    except OSError:
        return ()


def _key(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
