"""Vaults of any size for benchmarks: `python -m bench.vaults DIR --notes N [--seed S]`.

A vault is a function of (notes, seed) alone: equal arguments give equal paths and bytes on every machine. All
chance comes from `random.Random.random`, the one method whose sequence Python promises to keep between versions.

What real vaults have and a folder of equal files lacks is in it: folders of very different sizes, names outside
ASCII, titles that several notes share, notes that nearly everybody links to, links that lead nowhere, text in code
fences that looks like links and headings, and one note far larger than all others.
"""

import argparse
import json
import posixpath
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from workspaced_tools.vault.vault import Vault

T = TypeVar("T")


def wait_for_index(vault: Vault, part: str = "text") -> None:
    """Returns when the index of an open vault has all texts, or with `state` all names and links."""
    while getattr(vault.statistics().index, part) != "ready":
        time.sleep(0.001)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LINKS_PER_NOTE: Final = 5
BROKEN_LINK_SHARE: Final = 0.06
SHARED_TITLE_SHARE: Final = 0.02
TITLED_SHARE: Final = 0.5
"""Notes with `title` in the front matter; the others have their first heading, or only their file name."""
PLAIN_SHARE: Final = 0.15
"""Notes without front matter."""
ALIAS_SHARE: Final = 0.2
FENCE_SHARE: Final = 0.25
LONG_NOTE_BYTES: Final = 200_000
NOTES_PER_FOLDER: Final = 40
PARAGRAPHS_POOLED: Final = 3_000
COUNTS: Final = (1, 2, 2, 3, 4, 4, 5, 6, 8, 11)
"""Paragraphs of a note; with links and headings about 2 KB on average."""

NOUNS: Final = _words(
    "harbour ledger kitchen orchard tide meeting invoice sketch prototype interview garden timetable oven window "
    "recipe chapter letter budget bridge archive lamp draft survey voyage loaf cellar stove proposal station "
    "workshop Küche Brücke Übersicht Straße Frühling Gespräch œuvre façade jalapeño Łódź smörgås 会議 読書 設計 "
    "計画 窓 日記"
)
KINDS: Final = _words("notes plan review draft ideas summary questions log list outline report sketch")
MARKS: Final = ("🌱", "🔑", "📚", "⚓", "👩‍🌾", "🇳🇴", "🥐", "🧭")
SHARED_TITLES: Final = ("Kickoff", "Retrospective", "Notes", "Meeting", "Ideas", "Überblick", "会議")
TAGS: Final = _words("work home money bread travel research reading people design/type design/colour grün 読書")
AREAS: Final = _words("projects areas journal people reading recipes Büro 旅行 archive meetings")
STARTS: Final = _words("We Nobody She He They Somebody Imke Jürgen 土屋さん Ayşe")
VERBS: Final = _words("moved kept wrote chose found measured lost changed drew described read carried mended")
RARE_TAILS: Final = ("と書いてあった", "and called it a day 🙂")
TAILS: Final = (
    "before the boat left",
    "and nobody minded",
    "as agreed in March",
    "although it rained",
    "for 1,250 € in all",
    "with *some* care",
    "which was `enough`",
    "in the small room to the north",
    "twice, to be certain",
    "während der Tee kalt wurde",
)
FENCE: Final = '```python\n# Not a heading\nlink = "[[not a link]]"  # nor #atag\n```\n'


@dataclass(frozen=True)
class VaultCounts:
    """What a vault was made of."""

    notes: int
    folders: int
    bytes: int
    links: int
    broken_links: int
    shared_titles: int
    """Notes whose title another note could have too."""
    aliases: int
    long_note_bytes: int


@dataclass(frozen=True)
class _Plan:
    """A note before it is written: what others need to link to it."""

    folder: str
    stem: str
    title: str
    shared: bool

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.stem}.md" if self.folder else f"{self.stem}.md"


def make_vault(path: str | Path, notes: int, seed: int = 1) -> VaultCounts:
    """Write a vault of `notes` notes to `path`, a directory that is empty or does not exist yet.

    Raises:
        ValueError: `notes` is below 1.
        FileExistsError: something is at `path` already.
    """
    if notes < 1:
        raise ValueError(f"Expected at least 1 note, got {notes}")
    root = Path(path)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FileExistsError(f"Expected an empty directory or none at {root}")
    random = Random(seed)
    folders = _folders(random, notes)
    plans = _plans(random, folders, notes)
    paragraphs = [_paragraph(random) for _ in range(PARAGRAPHS_POOLED)]
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)

    written = links = broken = aliases = long_bytes = 0
    for number, plan in enumerate(plans):
        note = _Note(random, plans, number, paragraphs)
        text = note.text(long=number == notes // 2).encode()
        with open(root / plan.path, "wb", buffering=0) as file:
            file.write(text)
        written += len(text)
        links += note.links
        broken += note.broken
        aliases += note.aliases
        if number == notes // 2:
            long_bytes = len(text)
    shared = sum(plan.shared for plan in plans)
    return VaultCounts(notes, len(folders) - 1, written, links, broken, shared, aliases, long_bytes)


# -- names --


def _pick(random: Random, items: Sequence[T]) -> T:
    return items[int(random.random() * len(items))]


def _folders(random: Random, notes: int) -> list[str]:
    """The root first, then folders up to three deep, each after its parent."""
    folders = [""]
    for number in range(max(1, notes // NOTES_PER_FOLDER)):
        parent = _pick(random, folders) if number >= len(AREAS) else ""
        if parent.count("/") >= 2:
            parent = parent.rpartition("/")[0]
        name = AREAS[number] if number < len(AREAS) else f"{_pick(random, NOUNS)} {number}"
        folders.append(f"{parent}/{name}" if parent else name)
    return folders


def _plans(random: Random, folders: Sequence[str], notes: int) -> list[_Plan]:
    plans = []
    taken: set[tuple[str, str]] = set()
    for number in range(notes):
        # Squaring favours the first folders: a few hold hundreds of notes, most a handful.
        folder = folders[int(random.random() ** 2 * len(folders))]
        shared = random.random() < SHARED_TITLE_SHARE
        if shared:
            title = _pick(random, SHARED_TITLES)
            stem = title if (folder, title) not in taken else f"{title} {number}"
            taken.add((folder, title))
        else:
            title = f"{_pick(random, NOUNS)} {_pick(random, KINDS)} {number}"
            stem = f"{_pick(random, MARKS)} {title}" if random.random() < 0.03 else title
        plans.append(_Plan(folder, stem, title, shared))
    return plans


# -- text --


def _sentence(random: Random) -> str:
    words = (_pick(random, STARTS), _pick(random, VERBS), "the", _pick(random, NOUNS), _pick(random, KINDS))
    return f"{' '.join(words)} {_tail(random)}."


def _tail(random: Random) -> str:
    """Characters outside Latin-1 stand in one note of ten or so, as where people write in Latin script."""
    return _pick(random, RARE_TAILS if random.random() < 0.003 else TAILS)


def _paragraph(random: Random) -> str:
    return " ".join(_sentence(random) for _ in range(4 + int(random.random() * 6)))


class _Note:
    """Writes one note and counts what went into it."""

    def __init__(self, random: Random, plans: Sequence[_Plan], number: int, paragraphs: Sequence[str]) -> None:
        self._random = random
        self._plans = plans
        self._number = number
        self._plan = plans[number]
        self._paragraphs = paragraphs
        self.links = 0
        self.broken = 0
        self.aliases = 0

    def text(self, *, long: bool) -> str:
        random = self._random
        plain = random.random() < PLAIN_SHARE
        parts = [] if plain else [self._front_matter()]
        # A shared title is always spelt out, since its file name may have a number added.
        if plain or self._plan.shared or random.random() < 0.8:
            parts.append(f"# {self._plan.title}\n")
        links = [self._link() for _ in range(LINKS_PER_NOTE)]
        count = _pick(random, COUNTS)
        for index in range(count):
            if index % 2:
                parts.append(f"## {_pick(random, KINDS).capitalize()} {index}\n")
            share = links[index * LINKS_PER_NOTE // count : (index + 1) * LINKS_PER_NOTE // count]
            see = f" See {', '.join(share)}." if share else ""
            parts.append(f"{_pick(random, self._paragraphs)}{see}\n")
        parts.append(f"- [ ] {_pick(random, NOUNS)} #{_pick(random, TAGS)}\n")
        if random.random() < FENCE_SHARE:
            parts.append(FENCE)
        if long:
            self._lengthen(parts)
        return "\n".join(parts)

    def _lengthen(self, parts: list[str]) -> None:
        size = sum(len(part.encode()) + 1 for part in parts)
        chapter = 0
        while size < LONG_NOTE_BYTES:
            chapter += 1
            part = f"## Chapter {chapter}\n\n{_pick(self._random, self._paragraphs)}\n"
            parts.append(part)
            size += len(part.encode()) + 1

    def _front_matter(self) -> str:
        random = self._random
        lines = ["---"]
        if self._plan.shared or random.random() < TITLED_SHARE:
            lines.append(f'title: "{self._plan.title}"')
        lines.append(f"id: n-{self._number}")
        tags = (_pick(random, TAGS), _pick(random, TAGS))
        # Both spellings are in use: a list, and a string with commas.
        lines.append(f"tags: [{', '.join(tags)}]" if random.random() < 0.7 else f'tags: "{", ".join(tags)}"')
        if random.random() < ALIAS_SHARE:
            self.aliases += 1
            lines.append(f'aliases: ["{_pick(random, NOUNS)} no. {self._number}"]')
        month, day = 1 + int(random.random() * 12), 1 + int(random.random() * 28)
        lines.append(f"date: 2025-{month:02}-{day:02}")
        lines.append("---\n")
        return "\n".join(lines)

    def _link(self) -> str:
        random = self._random
        self.links += 1
        if random.random() < BROKEN_LINK_SHARE:
            self.broken += 1
            return f"[[{_pick(random, NOUNS)} never written {self._number}]]"
        target = self._target()
        form = random.random()
        if form < 0.4:
            return f"[[{target.stem}]]"
        if form < 0.6:
            return f"[[{target.stem}|{_pick(random, NOUNS)}]]"
        if form < 0.75:
            return f"[[{target.path.removesuffix('.md')}#{_pick(random, KINDS).capitalize()} 1]]"
        if form < 0.8:
            return f"![[{target.stem}]]"
        way = posixpath.relpath(target.path, self._plan.folder or ".")
        return f"[{_pick(random, KINDS)}](<{way}>)"

    def _target(self) -> _Plan:
        """A neighbour as often as not, else any note, the first ones far more often than the last."""
        plans, random = self._plans, self._random
        if random.random() < 0.5:
            return plans[(self._number + 1 + int(random.random() * 20)) % len(plans)]
        return plans[int(random.random() ** 3 * len(plans))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a vault; print its counts as one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m bench.vaults", description="Make a vault for benchmarks.")
    parser.add_argument("directory", metavar="DIR", help="empty, or not there yet")
    parser.add_argument("--notes", type=int, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    options = parser.parse_args(arguments)
    try:
        counts = make_vault(options.directory, options.notes, options.seed)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(json.dumps({"vault": options.directory, "seed": options.seed, **asdict(counts)}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
