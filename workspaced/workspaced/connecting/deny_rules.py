"""Rules in an agent's settings against reading withheld notes, of which its own file tools know nothing.

A rule of the vault becomes one or two of Claude Code's, which have gitignore's syntax behind `//` and the vault's
path. They deny, and nothing lifts them: so a rule with `!` has no counterpart; what it brings back stays denied.
Notes that their front matter withholds are not named, since that would tell their names.

A rule bears no mark of ours. The ledger says which ones we have added, and only these are taken out again.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import SettingsInvalid
from . import json_text
from .command_lines import absolute
from .settings_files import read

PLACE: Final = ("permissions", "deny")
_SPECIAL: Final = re.compile(r"([\\*?\[\]])")


def wanted(vault: str, denied: Sequence[str]) -> list[str]:
    """The rules against reading what the vault's ignore file, and `denied`, the setting `deny`, withhold from all.

    Raises:
        SettingsInvalid: the ignore file cannot be read, or a line is no rule.
    """
    from workspaced_tools.notes.note import Level
    from workspaced_tools.vault.files.glob_rules import RuleInvalid, compile_rules
    from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE, LINE_END

    path = Path(absolute(vault), IGNORE_FILE)
    try:
        own = compile_rules(LINE_END.split(read(path) or ""), is_file=True)
    except RuleInvalid as error:
        raise SettingsInvalid(f"{path}, line {error.details['line']}: {error.message}", hint="Mend it.") from None
    globs = [*denied, *(each.text for each in own if each.level is Level.NEVER)]
    return list(
        dict.fromkeys(rule for root in _roots(vault) for glob in globs for rule in _translated(root, glob))
    )


def missing(path: Path, vault: str, denied: Sequence[str]) -> list[str]:
    """Those of `wanted` that a settings file lacks; none where the one or the other cannot be read."""
    try:
        present = find(read(path) or "")
        return [rule for rule in wanted(vault, denied) if rule not in present]
    except (SettingsInvalid, json_text.Unmergeable):
        return []


def of_vault(rules: Iterable[str], vault: str) -> list[str]:
    """Those of our rules that concern the vault."""
    begins = tuple(f"Read(/{_escaped(root)}/" for root in _roots(vault))
    return [rule for rule in rules if rule.startswith(begins)]


def find(text: str) -> list[str]:
    """All rules in a settings file, ours and others; none where they have another form."""
    found: Any = json_text.parse(text)
    for key in PLACE:
        found = found.get(key) if isinstance(found, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def add(text: str, rules: Iterable[str]) -> str:
    """The text with those of the rules that are not there, at the end.

    Raises:
        Unmergeable: the text holds something else where the rules are to be.
    """
    for rule in rules:
        present = find(text)
        if rule not in present:
            text = json_text.put(text, (*PLACE, len(present)), rule)
    return text


def remove(text: str, rules: Iterable[str]) -> str:
    """The text without these rules; the list and the object that they leave empty go too.

    Raises:
        Unmergeable: the text is no plain JSON.
    """
    for rule in rules:
        if rule not in (present := find(text)):
            continue
        text = json_text.take(text, (*PLACE, present.index(rule)))
        for holder in (PLACE, PLACE[:1]):
            if json_text.is_bare(text, holder):
                text = json_text.take(text, holder)
    return text


def _roots(vault: str) -> list[str]:
    """The vault's path as it is given, and where links lead."""
    given = absolute(vault)
    return list(dict.fromkeys((given, os.path.realpath(given))))


def _translated(root: str, glob: str) -> Iterator[str]:
    """Claude Code's rules for a rule in gitignore's syntax of a folder."""
    body = glob.rstrip("/")
    place = f"/{_escaped(root)}/{'' if '/' in body else '**/'}{body.lstrip('/')}"
    if not glob.endswith("/"):
        yield f"Read({place})"
    if not body.endswith("/**") and (glob.endswith("/") or "." not in body.rpartition("/")[2]):
        yield f"Read({place}/**)"


def _escaped(path: str) -> str:
    return _SPECIAL.sub(r"\\\1", path)
