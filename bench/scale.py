"""Vaults of growing size: what starting, looking up, searching, editing and memory cost at each.

Everything is asked of a daemon on its socket. A vault is indexed cold once (that takes as long as it takes), then
the daemon is started again on the index that was left behind.
"""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from workspaced.client.wire import request_line

from .bare import Wire, latencies_ms
from .daemon import Daemon, Place, call_line, daemon, structured
from .measure import Bound, Figure, at_least, at_most, cpu_seconds, median, percentile, progress
from .tools import usual_notes, workspace_of
from .vaults import NOUNS, make_vault

LARGE: Final = 100_000
"""The goals are set for this many notes."""
READY_S: Final = 1_200.0
PROBE_S: Final = 0.005
VISIBLE_S: Final = 10.0
EDITS: Final = 20
CACHE_FILLED_READS: Final = 40_000
SOME_FOUND: Final = (200, 1_000)
"""How many notes the search that the goal speaks of finds."""


def growth(at: Place) -> Iterator[Figure]:
    """All figures, size by size."""
    for notes in at.sizes.scales:
        yield from of_size(at, notes)


def of_size(at: Place, notes: int) -> Iterator[Figure]:
    """All figures of a vault of so many notes."""
    vault = at.new(f"vault-of-{notes}")
    progress(f"making a vault of {notes} notes")
    make_vault(vault, notes)
    shown = usual_notes(vault, 7)
    data = at.new("data")
    yield from _cold(at, vault, data, notes, shown)
    yield from _again(at, vault, data, notes, shown)


def _goal(notes: int, bound: Bound) -> Bound | None:
    return bound if notes == LARGE else None


# -- the first start --


def _cold(at: Place, vault: Path, data: Path, notes: int, shown: list[str]) -> Iterator[Figure]:
    started = time.monotonic()
    with daemon(at, vault, data) as running:
        with running.client() as client:
            client.publish(workspace_of(shown))
        with _Probe(running) as probe:
            names_s = _when(running, "state") - started
            during = probe.taken()
            text_s = _when(running, "text") - started
        cpu_s, all_cpu_s = cpu_seconds(running.pid), cpu_seconds(running.pid, ended_children=True)
        size = sum(file.stat().st_size for file in (data / "cache").rglob("*") if file.is_file())
        resident = running.resident_mb()
    fields = {
        "notes": notes,
        "names_s": names_s,
        "text_s": text_s,
        "daemon_cpu_s": cpu_s,
        "cpu_s": all_cpu_s,
        "index_mb": size / 2**20,
        "note": "from starting the process; names, links and tags first, text for search follows",
    }
    rate = notes / names_s
    yield Figure(
        f"scale.{notes}_notes.cold",
        rate,
        "notes/s",
        _goal(notes, at_least(6_000)),
        _goal(notes, at_least(12_000)),
        fields,
    )
    if during:
        yield Figure(
            f"scale.{notes}_notes.while_indexing.get_workspace_context.p99",
            percentile(during, 0.99),
            "ms",
            _goal(notes, at_most(5)),
            None,
            {"p50_ms": median(during), "max_ms": max(during), "calls": len(during), "workspace_notes": len(shown)},
        )
    yield Figure(f"scale.{notes}_notes.resident.indexed", resident, "MB", _goal(notes, at_most(400)))


class _Probe:
    """Asks for the context again and again while something else goes on."""

    def __init__(self, running: Daemon) -> None:
        self._wire = running.wire()
        self._line = call_line("get_workspace_context")
        self._taken: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "_Probe":
        self._wire.ask(self._line)  # The first one reads the notes.
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._wire.close()

    def taken(self) -> list[float]:
        """The latencies so far, in ms."""
        return list(self._taken)

    def _ask(self) -> None:
        while not self._done.wait(PROBE_S):
            self._taken += latencies_ms(1, lambda _: self._wire.ask(self._line))


def _when(running: Daemon, part: str) -> float:
    """The moment from which on this part of the index is ready."""
    deadline = time.monotonic() + READY_S
    while running.status()["vaults"][0]["index"][part] != "ready":
        if time.monotonic() > deadline:
            raise TimeoutError(f"the index was not ready within {READY_S} s")
        time.sleep(0.05)
    return time.monotonic()


# -- later starts --


def _again(at: Place, vault: Path, data: Path, notes: int, shown: list[str]) -> Iterator[Figure]:
    firsts = []
    for _ in range(at.sizes.restarts):
        with daemon(at, vault, data) as running:
            wire = running.wire()
            firsts += latencies_ms(
                1, lambda _, wire=wire: structured(wire.ask(call_line("get_workspace_context")))
            )
            wire.close()
    yield Figure(
        f"scale.{notes}_notes.first_call",
        median(firsts),
        "ms",
        _goal(notes, at_most(300)),
        _goal(notes, at_most(150)),
        {
            "worst_ms": max(firsts),
            "restarts": len(firsts),
            "note": "the files are compared with the index behind it",
        },
    )
    started = time.monotonic()
    with daemon(at, vault, data) as running:
        ready_s = _when(running, "text") - started
        yield Figure(
            f"scale.{notes}_notes.warm_start", ready_s, "s", fields={"note": "until every file was compared"}
        )
        wire = running.wire()
        yield from _lookups(at, wire, notes, shown)
        yield _publishes(at, wire, notes, shown)
        yield from _edits(vault, wire, notes, shown)
        _fill_cache(vault, wire)
        cache = running.status()["vaults"][0]["cache"]
        yield Figure(
            f"scale.{notes}_notes.resident.cache_filled",
            running.resident_mb(),
            "MB",
            _goal(notes, at_most(400)),
            _goal(notes, at_most(250)),
            {"notes_cached": cache["entries"], "cache_mb": cache["bytes"] / 2**20},
        )
        wire.close()


class _Ask(NamedTuple):
    name: str
    line: bytes
    found: int | None = None
    goal: float | None = None
    aim: float | None = None


def _lookups(at: Place, wire: Wire, notes: int, shown: list[str]) -> Iterator[Figure]:
    for ask in _asks(wire, shown):
        wire.ask(ask.line)
        taken = latencies_ms(at.sizes.calls, lambda _, line=ask.line: wire.ask(line))
        goal = None if ask.goal is None else _goal(notes, at_most(ask.goal))
        aim = None if ask.aim is None else _goal(notes, at_most(ask.aim))
        fields: dict[str, Any] = {"p99_ms": percentile(taken, 0.99), "calls": len(taken)}
        if ask.found is not None:
            fields["found"] = ask.found
        yield Figure(f"scale.{notes}_notes.{ask.name}.p50", median(taken), "ms", goal, aim, fields)


def _asks(wire: Wire, shown: list[str]) -> Iterator[_Ask]:
    path = shown[3]
    note = structured(wire.ask(call_line("get_note_by_reference", reference=path)))
    small = {"maxContentLength": 100}
    yield _Ask("by_path", call_line("get_note_by_reference", reference=path, **small))
    yield _Ask("by_title", call_line("get_note_by_reference", reference=note["title"], **small), None, 0.2, 0.05)
    yield _Ask("not_found", call_line("get_note_by_reference", reference=f"{note['title']} nowhere"))
    links = call_line("get_current_note", includeLinks=True, **small)
    yield _Ask("links", links, structured(wire.ask(links))["links"]["incomingTotal"], 1, 0.3)
    for name, words, bounds in _queries(wire, note["title"]):
        line = call_line("search_workspace", query=words)
        yield _Ask(f"search.{name}", line, structured(wire.ask(line))["total"], *bounds)
    yield _Ask("related", call_line("get_related_notes"))
    yield _Ask("summary", call_line("get_workspace_summary"))


def _queries(wire: Wire, title: str) -> Iterator[tuple[str, str, tuple[float | None, float | None]]]:
    yield "one", title, (10, 3)
    low, high = SOME_FOUND
    for first in range(len(NOUNS)):
        words = " ".join(NOUNS[first : first + 3])
        total = structured(wire.ask(call_line("search_workspace", query=words, limit=1)))["total"]
        if low <= total <= high:
            yield "some", words, (10, 3)
            break
    yield "most", "before", (None, None)


def _publishes(at: Place, wire: Wire, notes: int, shown: list[str]) -> Figure:
    def publish(number: int) -> None:
        action = {"type": "active_note_set", "data": {"note": shown[number % len(shown)]}}
        wire.ask(request_line(1, "workspaced/publish", {"actions": [action]}))

    taken = latencies_ms(at.sizes.calls, publish)
    return Figure(f"scale.{notes}_notes.publish.p50", median(taken), "ms", fields={"calls": len(taken)})


def _edits(vault: Path, wire: Wire, notes: int, shown: list[str]) -> Iterator[Figure]:
    """From writing a note to finding its new word."""
    taken = []
    for number in range(EDITS):
        note = vault / shown[number % len(shown)]
        word = f"quokka{number}"
        note.write_text(f"{note.read_text(encoding='utf-8')}\n{word}\n", encoding="utf-8")
        begun = time.monotonic()
        # Words of former edits are near ones, and come after it.
        line = call_line("search_workspace", query=word, limit=1)
        _until(lambda line=line, note=note: _first(wire, line) == note.relative_to(vault).as_posix())
        taken.append(1_000 * (time.monotonic() - begun))
    yield Figure(
        f"scale.{notes}_notes.edit_to_found",
        median(taken),
        "ms",
        at_most(200),
        None,
        {"worst_ms": max(taken), "edits": len(taken)},
    )


def _first(wire: Wire, line: bytes) -> str | None:
    results = structured(wire.ask(line))["results"]
    return results[0]["id"] if results else None


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + VISIBLE_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"an edit was not found within {VISIBLE_S} s")
        time.sleep(0.002)


def _fill_cache(vault: Path, wire: Wire) -> None:
    for path, _ in zip(sorted(vault.rglob("*.md")), range(CACHE_FILLED_READS), strict=False):
        wire.ask(call_line("get_note_by_reference", reference=path.relative_to(vault).as_posix()))
