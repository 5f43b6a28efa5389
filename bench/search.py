"""Search in vaults of words of twelve scripts: recall, size of the index, latency, and memory, beside two rivals.

The rivals are an index of whole words (FTS5 with `unicode61`, what most note programs have, and we had) over the
same text, and `grep -ril` over the files. The vault is a function of its number of notes.
"""

import os
import resource
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from workspaced_tools.notes.search_text import search_form
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.vault import Vault

from .daemon import Place
from .measure import Figure, Sizes, at_least, at_most, median, percentile, progress
from .vaults import wait_for_index

NOTE_CHARS: Final = 2_000
VOCABULARY: Final = 20_000
COMMON: Final = "meeting"
COMMON_SHARE: Final = 0.86
RARE: Final = "haystack"
RARE_EVERY: Final = 12_000
CALLS: Final = 10_000
"""Calls before memory is taken again."""
SCRIPTS: Final = (
    *("노트", "ملف", "כספת", "файл", "โน้ต", "নোট", "笔记", "ファイル", "नोट", "αρχείο"),
    *("Notiz", "note", "link", "crypt"),
)
AROUND: Final = (("", ""), ("x", ""), ("", "s"), ("ال", ""), ("", "를"), ("un", "ing"), ("", "の"))
SYLLABLES: Final = tuple(
    f"{begin}{vowel}{end}" for begin in "tnsrhldcmfwpb" for vowel in "eaoiu" for end in ("", "n", "st")
)
LETTERS: Final = "etaoinshrdlucm"


def search(at: Place) -> Iterator[Figure]:
    """All figures, vault by vault."""
    for notes in at.sizes.scales:
        yield from _one_vault(at, notes, at.sizes)


def _one_vault(at: Place, notes: int, sizes: Sizes) -> Iterator[Figure]:
    folder = at.new("search")
    progress(f"making {notes} notes for search")
    texts = dict(_texts(notes))
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    size = sum(len(text.encode()) for text in texts.values())
    vault = Vault(folder, cache_dir=at.new("index"), clock_ns=lambda: time.time_ns() + 10_000_000_000)
    begun = time.perf_counter()
    vault.start()
    wait_for_index(vault)
    built = time.perf_counter() - begun
    with _WordIndex(at.new("words"), texts) as words:
        vault.index.file.read("PRAGMA wal_checkpoint(TRUNCATE)")
        yield Figure(
            f"search.build.{notes}_notes",
            notes / built,
            "notes/s",
            fields={"seconds": built, "word_index_seconds": words.built_s},
        )
        yield _size(vault, words, notes, size)
        yield _recall(vault, words, folder, texts)
        for name, query, limit in (("rare", RARE, 10.0), ("common", COMMON, 40.0)):
            yield _latency(vault, words, folder, sizes, (name, query, limit), notes)
    if notes == sizes.scales[0]:
        yield _memory(vault, sizes)
    vault.close()


def _texts(notes: int) -> Iterator[tuple[str, str]]:
    chance = Random(notes)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(VOCABULARY)]
    weights = [1 / (place + 1) for place in range(VOCABULARY)]
    for number in range(notes):
        body = chance.choices(words, weights, k=NOTE_CHARS // 8)
        for word in chance.choices(SCRIPTS, k=8):
            before, behind = chance.choice(AROUND)
            body[chance.randrange(len(body))] = f"{before}{word}{behind}"
        if chance.random() < COMMON_SHARE:
            body.append(COMMON)
        if number % RARE_EVERY == 7:
            body.append(RARE)
        lines = [" ".join(body[start : start + 12]) for start in range(0, len(body), 12)]
        yield f"{number % 97}/{number}.md", f"# {chance.choice(words)} {number}\n\n" + "\n".join(lines) + "\n"


class _WordIndex:
    """The rival: whole words, as FTS5's own tokenizer splits them."""

    def __init__(self, directory: Path, texts: dict[str, str]) -> None:
        directory.mkdir()
        self.path = directory / "words.sqlite"
        self._db = sqlite3.connect(self.path)
        self._db.execute("CREATE VIRTUAL TABLE text USING fts5(path UNINDEXED, body, tokenize = 'unicode61')")
        begun = time.perf_counter()
        self._db.executemany("INSERT INTO text VALUES (?, ?)", texts.items())
        self._db.commit()
        self.built_s = time.perf_counter() - begun

    def __enter__(self) -> "_WordIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def find(self, word: str, limit: int = -1) -> list[str]:
        sql = "SELECT path FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT ?"
        return [path for (path,) in self._db.execute(sql, (f'"{word}"', limit))]


def _size(vault: Vault, words: _WordIndex, notes: int, size: int) -> Figure:
    used = sum(Path(f"{vault.index.file.path}{end}").stat().st_size for end in ("", "-wal"))
    return Figure(
        f"search.size.{notes}_notes",
        used / size,
        "index/text",
        at_most(1.5),
        fields={"index_bytes": used, "text_bytes": size, "word_index": words.path.stat().st_size / size},
    )


def _recall(vault: Vault, words: _WordIndex, folder: Path, texts: dict[str, str]) -> Figure:
    """The share of the notes that hold a word, read one after the other, that are found; over all words."""
    sample = list(texts)[-1_000:]
    read = {path: search_form(texts[path]) for path in sample}
    wanted = found = by_words = by_grep = false = 0
    for word in SCRIPTS:
        holding = {path for path in sample if search_form(word) in read[path]}
        ours = {hit.note.id for hit in _all(vault, word, sample)}
        wanted += len(holding)
        found += len(holding & ours)
        false += len(ours - holding)
        by_words += len(holding & set(words.find(word)))
        by_grep += len(holding & _grep(folder, word))
    return Figure(
        f"search.recall.{len(texts)}_notes",
        100 * found / wanted,
        "%",
        at_least(100),
        fields={
            "words": len(SCRIPTS),
            "false_hits": false,
            "word_index": 100 * by_words / wanted,
            "grep": 100 * by_grep / wanted,
            "note": "over the last 1,000 notes",
        },
    )


def _all(vault: Vault, word: str, among: Sequence[str]) -> Iterator[object]:
    answer = vault.searches.search(SearchQuery(word, len(among), among=tuple(among)))  # type: ignore[arg-type]
    assert answer.exact
    return iter(answer.hits)


def _grep(folder: Path, word: str) -> set[str]:
    done = subprocess.run(["grep", "-ril", "--", word, "."], cwd=folder, capture_output=True, text=True)
    return {path.removeprefix("./") for path in done.stdout.splitlines()}


def _latency(
    vault: Vault, words: _WordIndex, folder: Path, sizes: Sizes, asked: tuple[str, str, float], notes: int
) -> Figure:
    name, query, limit = asked
    answer = vault.searches.search(SearchQuery(query, 10))
    ours = _times(lambda: vault.searches.search(SearchQuery(query, 10)), sizes.calls)
    theirs = _times(lambda: words.find(query, 10), sizes.calls)
    grep = _times(lambda: _grep(folder, query), 3)
    return Figure(
        f"search.{name}.{notes}_notes",
        1_000 * median(ours),
        "ms",
        sizes.whole(at_most(limit)),
        fields={
            "p99_ms": 1_000 * percentile(ours, 0.99),
            "total": answer.total,
            "exact": answer.exact,
            "word_index_ms": 1_000 * median(theirs),
            "grep_ms": 1_000 * median(grep),
        },
    )


def _times(call: Callable[[], object], calls: int) -> list[float]:
    call()
    taken = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return taken


def _memory(vault: Vault, sizes: Sizes) -> Figure:
    """How much this process grows by searches without end."""
    chance = Random(1)
    for _ in range(200):
        vault.searches.search(SearchQuery(chance.choice(SCRIPTS), 10))
    before = _resident()
    for _ in range(200 if sizes.quick else CALLS):
        vault.searches.search(SearchQuery(chance.choice(SCRIPTS) + chance.choice(LETTERS), 10))
    return Figure(
        "search.memory.10000_calls",
        (_resident() - before) / 2**20,
        "MiB",
        sizes.whole(at_most(8)),
        fields={"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024},
    )


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
