"""`.gitignore` files below a vault's root, as git applies them to files that it does not track.

A file's rules count below its folder. The deepest file with a rule for a path decides, and in it the last such
rule; below an ignored folder everything is ignored. Not read are `.gitignore` files above the vault,
`.git/info/exclude` and the user's own list: they lie outside, or belong to one clone. Like git, this follows no
symlink called `.gitignore`.

A line that git does not understand counts as none. A file that cannot be read, is larger than GITIGNORE_BYTES_MAX,
or has a line that git understands and we do not, ignores everything below it: rather too little is shown.
"""

import errno
import os
import stat
from functools import lru_cache
from typing import Final, NamedTuple

from .glob_rules import Rule, RuleInvalid, compile_rules

GITIGNORE: Final = ".gitignore"
GITIGNORE_BYTES_MAX: Final = 256 * 1024
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NONE: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.EMLINK, errno.ENOTDIR})
_EVERYTHING: Final = b"*"


class _Rules(NamedTuple):
    """The rules of one file, the last line first."""

    for_folders: tuple[Rule, ...]
    for_files: tuple[Rule, ...]
    """Without those that name only folders."""


class _Scope(NamedTuple):
    """One file's rules."""

    prefix: str
    """The folder of the file, with a slash at its end; empty for the root."""
    rules: "_Rules"


Ignored = tuple[_Scope, ...]
"""The rules that count in one folder, those of the root first."""
NOTHING: Final[Ignored] = ()


def with_folder(above: Ignored, directory: int, prefix: str) -> Ignored:
    """The rules that count in the folder `prefix`, open as `directory`, given those of the folder above it."""
    content = _read(directory)
    rules = _compiled(content) if content else None
    return (*above, _Scope(prefix, rules)) if rules is not None else above


def is_ignored(path: str, ignored: Ignored) -> bool:
    """Whether rules name exactly this path, whatever they say of the folders above it. A folder's path ends in a
    slash."""
    is_folder = path.endswith("/")
    for scope in reversed(ignored):
        below = path[len(scope.prefix) :]
        rules = scope.rules.for_folders if is_folder else scope.rules.for_files
        deciding = next((rule for rule in rules if rule.matches(below)), None)
        if deciding is not None:
            return not deciding.lifts
    return False


def _read(directory: int) -> bytes:
    """The bytes of the folder's file; empty if there is none."""
    try:
        descriptor = os.open(GITIGNORE, _OPEN, dir_fd=directory)
    except OSError as reason:
        return b"" if reason.errno in _NONE else _EVERYTHING
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        content = b""
        while len(content) <= GITIGNORE_BYTES_MAX and (more := os.read(descriptor, GITIGNORE_BYTES_MAX + 1)):
            content += more
        return content if len(content) <= GITIGNORE_BYTES_MAX else _EVERYTHING
    except OSError:
        return _EVERYTHING
    finally:
        os.close(descriptor)


@lru_cache(maxsize=512)
def _compiled(content: bytes) -> _Rules:
    rules: list[Rule] = []
    for line in content.decode("utf-8-sig", errors="replace").split("\n"):
        if line.startswith("#"):
            continue
        try:
            rules += compile_rules([line], is_file=True, source=GITIGNORE)
        except RuleInvalid:
            if line.startswith("!") or _names_nothing(line):
                continue
            return _compiled(_EVERYTHING)
    rules.reverse()
    return _Rules(tuple(rules), tuple(rule for rule in rules if not rule.text.endswith("/")))


def _names_nothing(line: str) -> bool:
    """Whether git takes a line that we refuse for one that names nothing: a class that has no end."""
    _, opened, rest = line.rpartition("[")
    return bool(opened) and "]" not in rest[1:]
