"""Search by questions: how often the note that answers is the first, and among the first five, beside four rivals.

The rivals are FTS5 over words (`unicode61`) and over trigrams, any of which is enough; BM25 over words; and
`grep -c` by the three rarest words. The notes are the documents of two packages, fetched when this runs. `asked`
has the questions, half of them in words that the notes do not have. With DATA=folder also XQuAD.
"""

import json
import math
import os
import re
import sqlite3
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from .bare import Wire
from .daemon import Place, call_line, daemon, structured
from .measure import Figure, at_least, at_most, percentile, progress
from .peer_table import Skipped
from .search import _texts as notes_of_scripts

ASKED: Final = Path(__file__).parent / "asked"
LISTED: Final = 5
MANY: Final = 20_000
COLD: Final = 10
"""The first questions to a daemon that has just read all notes are not timed."""
MUST: Final = {"en": 0.99, "de": 0.95, "zh": 0.98, "ar": 0.98}
WORD: Final = re.compile(r"\w+")
Ask = Callable[[str], list[str]]
Question = tuple[str, list[str], str]
"""What is asked, the notes that answer it, and its kind."""


def questions(at: Place) -> Iterator[Figure]:
    """All figures, folder by folder."""
    for file in sorted(ASKED.glob("*.toml")):
        told = tomllib.loads(file.read_text())
        folder = at.new(f"asked-{file.stem}")
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", told["package"]], cwd=folder, capture_output=True, text=True)
        if packed.returncode:
            yield Skipped(f"questions.{file.stem}", 0.0, "share", reason=packed.stderr[-200:])
            continue
        subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=folder, check=True)
        root = folder / "package" / told["folder"]
        texts = {each.relative_to(root).as_posix(): each.read_text() for each in root.rglob("*.md")}
        asked = [
            (each["asks"], each["notes"], "other" if each.get("other") else "own") for each in told["question"]
        ]
        yield from _one(at, file.stem, texts, asked)
    data = os.environ.get("DATA")
    for file in sorted(Path(data).glob("*.json")) if data else ():
        texts, asked = {}, []
        for number, article in enumerate(json.loads(file.read_text())["data"]):
            for place, paragraph in enumerate(article["paragraphs"]):
                path = f"{number}/{place}.md"
                texts[path] = paragraph["context"] + "\n"
                asked += [(each["question"], [path], "all") for each in paragraph["qas"]]
        yield from _one(at, f"xquad_{file.stem}", texts, asked)
    yield _many(at)


def _one(at: Place, name: str, texts: dict[str, str], asked: list[Question]) -> Iterator[Figure]:
    progress(f"{len(asked)} questions over {len(texts)} notes: {name}")
    with _served(at, texts) as ours:
        yield from _compared(name, ours, texts, asked)


def _compared(name: str, ours: "_Ours", texts: dict[str, str], asked: list[Question]) -> Iterator[Figure]:
    rivals: dict[str, Ask] = {
        "ours": ours.ask,
        "fts5_words": _fts(texts, "unicode61", WORD.findall),
        "fts5_trigram": _fts(texts, "trigram", lambda text: [text[at : at + 3] for at in range(len(text) - 2)]),
        "bm25": _bm25(texts),
        "grep": _grep(texts),
    }
    for kind in dict.fromkeys(kind for _, _, kind in asked):
        fields: dict[str, Any] = {}
        missed = []
        these = [(question, notes) for question, notes, its_kind in asked if its_kind == kind]
        for rival, ask in rivals.items():
            found = [(ask(question), notes) for question, notes in these]
            fields[f"{rival}_at_1"] = sum(bool(set(paths[:1]) & set(notes)) for paths, notes in found) / len(these)
            hits = [bool(set(paths[:LISTED]) & set(notes)) for paths, notes in found]
            fields[f"{rival}_at_5"] = sum(hits) / len(these)
            if rival == "ours":
                missed = [question for (question, _), hit in zip(these, hits, strict=True) if not hit]
        fields |= ours.fields()
        must = MUST.get(name.removeprefix("xquad_"))
        goal = at_least(must if must is not None else fields["fts5_words_at_5"])
        yield Figure(
            f"questions.{name}.{kind}",
            fields["ours_at_5"],
            "share",
            goal,
            fields={**fields, "missed": missed[:30]},
        )


def _many(at: Place) -> Figure:
    """Questions over many notes, of words that stand in some of them."""
    number = 2_000 if at.sizes.quick else MANY
    texts = dict(notes_of_scripts(number))
    with _served(at, texts) as ours:
        for text in list(texts.values())[:: number // 200]:
            words = WORD.findall(text)
            ours.ask(" ".join(words[place] for place in range(5, len(words), len(words) // 8)), 10)
    fields = ours.fields()
    goal = at.sizes.whole(at_most(300))
    return Figure("questions.many", fields.pop("p99_ms"), "ms", goal, fields={"notes": number, **fields})


class _Ours:
    """Questions to a daemon, over its socket."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._taken_ms: list[float] = []
        self._sizes: list[float] = []

    def ask(self, question: str, limit: int = LISTED) -> list[str]:
        """The notes of an answer."""
        line = call_line("search_workspace", query=question, limit=limit)
        begun = time.perf_counter()
        answer = self._wire.ask(line)
        self._taken_ms.append(1_000 * (time.perf_counter() - begun))
        data = structured(answer)
        self._sizes.append(len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()))
        return [each["id"] for each in data["results"]]

    def fields(self) -> dict[str, float]:
        """How long answers took, and their usual bytes."""
        taken = self._taken_ms[COLD:]
        return {
            "p50_ms": percentile(taken, 0.5),
            "p99_ms": percentile(taken, 0.99),
            "answer_bytes_p50": percentile(self._sizes, 0.5),
        }


@contextmanager
def _served(at: Place, texts: dict[str, str]) -> Iterator[_Ours]:
    folder = at.new("questions")
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with daemon(at, folder, name="questions") as running:
        running.wait_for_text()
        yield _Ours(running.wire())


def _fts(texts: dict[str, str], tokenize: str, cut: Callable[[str], list[str]]) -> Ask:
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE t USING fts5(path UNINDEXED, name, body, tokenize = '{tokenize}')")
    db.executemany("INSERT INTO t VALUES (?, ?, ?)", ((path, path, text) for path, text in texts.items()))

    def ask(question: str) -> list[str]:
        wanted = " OR ".join('"' + each.replace('"', '""') + '"' for each in cut(question.lower()))
        rows = db.execute("SELECT path FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (wanted, LISTED))
        return [path for (path,) in rows]

    return ask


def _bm25(texts: dict[str, str]) -> Ask:
    counts = {path: Counter(WORD.findall(f"{path} {text}".lower())) for path, text in texts.items()}
    having = Counter(word for each in counts.values() for word in each)
    usual = sum(each.total() for each in counts.values()) / len(counts)

    def score(words: set[str], path: str) -> float:
        count, length = counts[path], 0.3 + 0.9 * counts[path].total() / usual
        rarity = {word: math.log(1 + (len(counts) - having[word] + 0.5) / (having[word] + 0.5)) for word in words}
        return sum(rarity[word] * 2.2 * count[word] / (count[word] + length) for word in words if count[word])

    return lambda question: sorted(counts, key=lambda path: -score(set(WORD.findall(question.lower())), path))[
        :LISTED
    ]


def _grep(texts: dict[str, str]) -> Ask:
    lines = {path: text.lower().splitlines() for path, text in texts.items()}
    having = Counter(word for text in texts.values() for word in set(WORD.findall(text.lower())))

    def ask(question: str) -> list[str]:
        rare = sorted(
            {word for word in WORD.findall(question.lower()) if having[word]}, key=lambda word: having[word]
        )
        counts = {path: sum(any(word in line for word in rare[:3]) for line in its) for path, its in lines.items()}
        return sorted(counts, key=lambda path: -counts[path])[:LISTED]

    return ask
