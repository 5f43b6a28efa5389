"""Rules that match no file of a vault, and what their author may have meant.

Git reads `./secret.md`, `keep\\secret.md` and `{secret,diary}.md` as names that hardly any file has. Such a rule
withholds nothing, and nothing else would tell.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from .glob_rules import Rule, RuleInvalid, compile_rules

_COMMENT = re.compile(r"\s+#.*")
_HERE = re.compile(r"(?<![^/])(?:\./)+|/+(?=/)")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ALTERNATIVES_MAX = 16


class IdleRule(msgspec.Struct, frozen=True):
    """A rule that matches neither a file nor a folder at present."""

    rule: str
    source: str
    """The setting or file of the rule."""
    line: int
    instead: tuple[str, ...] = ()
    """Rules that match something and that the line may be meant as."""

    def is_meant_for(self, path: str) -> bool:
        """Whether a rule that this one may be meant as matches the path or a folder above it."""
        return any(_first_match(each, set(_parts(path)), ignore_case=False) for each in self.instead)


def idle_rules(rules: Sequence[Rule], paths: Iterable[str]) -> list[IdleRule]:
    """The rules that match none of these vault-relative paths of files, nor a folder above one."""
    parts = {part for path in paths for part in _parts(path)}
    idle = [rule for rule in rules if not any(map(rule.matches, parts))]
    return [IdleRule(rule.text, rule.source, rule.line, tuple(_instead(rule.text, parts))) for rule in idle]


def _parts(path: str) -> Iterator[str]:
    """The path, and the folders above it as rules match them."""
    yield path
    end = path.find("/")
    while end >= 0:
        yield path[: end + 1]
        end = path.find("/", end + 1)


def _instead(text: str, parts: set[str]) -> list[str]:
    sign, text = ("!", text[1:]) if text.startswith("!") else ("", text)
    found = (_found(meant, text, parts) for meant in _alternatives(_cleaned(text)))
    return [sign + each for each in dict.fromkeys(found) if each is not None]


def _found(meant: str, text: str, parts: set[str]) -> str | None:
    """A rule like `meant` that matches something; None: there is none but `text`."""
    # Of a note people write the name, and a file has no slash at its end.
    readings = (meant, f"{meant}.md", meant.rstrip("/"), f"{meant.rstrip('/')}.md")
    for each in readings:
        if each != text and _first_match(each, parts, ignore_case=False) is not None:
            return each
    return next(filter(None, (_first_match(each, parts, ignore_case=True) for each in readings)), None)


def _cleaned(text: str) -> str:
    """Without what people write around a path or name, and with slashes."""
    plain = _COMMENT.sub("", text).strip(" \t\"'").removeprefix("[[").removesuffix("]]")
    return _HERE.sub("", plain.replace("\\", "/"))


def _alternatives(text: str) -> list[str]:
    """`{a,b}.md` is `a.md` and `b.md`, as shells have it."""
    made = [text]
    while len(made) < _ALTERNATIVES_MAX and (braces := _BRACES.search(made[0])) is not None:
        first = made.pop(0)
        made += [f"{first[: braces.start()]}{each}{first[braces.end() :]}" for each in braces[1].split(",")]
    return made


def _first_match(text: str, parts: set[str], *, ignore_case: bool) -> str | None:
    try:
        rules = compile_rules([text], is_file=True, ignore_case=ignore_case)
    except RuleInvalid:
        return None
    return min(filter(rules[0].matches, parts), default=None) if rules else None
