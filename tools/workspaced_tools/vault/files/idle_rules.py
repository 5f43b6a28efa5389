"""Rules that match no file of a vault.

Git reads `./secret.md`, `keep\\secret.md` and `{secret,diary}.md` as names that hardly any file has. Such a rule
withholds nothing, and nothing else would tell.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from .glob_rules import Rule


class IdleRule(msgspec.Struct, frozen=True):
    """A rule that matches neither a file nor a folder at present."""

    rule: str
    source: str
    """The setting or file of the rule."""
    line: int


def idle_rules(rules: Sequence[Rule], paths: Iterable[str]) -> list[IdleRule]:
    """The rules that match none of these vault-relative paths of files, nor a folder above one."""
    parts = {part for path in paths for part in _parts(path)}
    return [IdleRule(rule.text, rule.source, rule.line) for rule in rules if not any(map(rule.matches, parts))]


def _parts(path: str) -> Iterator[str]:
    """The path, and the folders above it as rules match them."""
    yield path
    end = path.find("/")
    while end >= 0:
        yield path[: end + 1]
        end = path.find("/", end + 1)
