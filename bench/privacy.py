"""Whether time tells a withheld note from a missing one: equal questions, in turns, over one connection."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE

from .bare import Wire, latencies_ms
from .daemon import Daemon, Place, call_line, daemon
from .measure import Bound, Figure, at_most, interleaved, median, pooled

DIFFERENCE_US: Final = 50
DIFFERENCE_SHARE: Final = 0.1
"""The medians of 1,000 may differ by either."""
FIRST_DIFFERENCE_US: Final = 2_000
"""Of the few starts; reading a large note takes ten times as long."""
WORDS: Final = "words and words " * 250_000
PRIVATE: Final = "---\nworkspaced: private\n---\n"
WITHHELD: Final = {
    "private_small": ("hidden/small.md", f"{PRIVATE}# Plan\n"),
    "private_large": ("hidden/large.md", f"{PRIVATE}{WORDS}"),
    "denied_large": ("denied/large.md", WORDS),
}
"""By the name of its figure: where a note lies, and its text. Beside each one looks for a name that is nowhere."""


def probes(at: Place) -> Iterator[Figure]:
    """Medians of questions for a withheld note and as many for a missing one: warm, and right after a start."""
    vault = at.new("private-vault")
    _write(vault)
    with daemon(at, vault) as running:
        running.wait_for_index()
        for name, (path, _) in WITHHELD.items():
            withheld, missing = _warm(running, path, 5 * at.sizes.calls)
            bound_us = max(DIFFERENCE_US, DIFFERENCE_SHARE * median(missing) * 1_000)
            yield _figure(f"privacy.probe.{name}", withheld, missing, at_most(bound_us))
    for name, (path, _) in WITHHELD.items():
        yield _figure(
            f"privacy.first_probe.{name}", *_first(at, vault, path), at.sizes.whole(at_most(FIRST_DIFFERENCE_US))
        )


def _write(vault: Path) -> None:
    for path, text in [(IGNORE_FILE, "denied/\n"), ("Home.md", "# Home\n"), *WITHHELD.values()]:
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text)


def _missing(path: str) -> str:
    """A name of equal length beside it that no note has."""
    return path.replace(".md", "")[:-1] + "x.md"


def _asks(wire: Wire, path: str) -> Callable[[], list[float]]:
    line = call_line("get_note_by_reference", reference=path)
    assert b"NOTE_NOT_FOUND" in wire.ask(line)
    return lambda: latencies_ms(1, lambda _: wire.ask(line))


def _warm(running: Daemon, path: str, probes: int) -> tuple[list[float], list[float]]:
    wire = running.wire()
    try:
        withheld, missing = interleaved(probes, _asks(wire, path), _asks(wire, _missing(path)))
    finally:
        wire.close()
    return pooled(withheld), pooled(missing)


def _first(at: Place, vault: Path, path: str) -> tuple[list[float], list[float]]:
    """The first question after a start; each start asks for one of both."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * at.sizes.restarts):
        asked = path if number % 2 == 0 else _missing(path)
        with daemon(at, vault, name=f"first{number}") as running:
            running.wait_for_index()
            wire = running.wire()
            wire.ask(call_line("get_note_by_reference", reference="Home.md"))
            began = time.perf_counter()
            wire.ask(call_line("get_note_by_reference", reference=asked))
            taken[number % 2].append((time.perf_counter() - began) * 1_000)
            wire.close()
    return taken


def _figure(name: str, withheld: list[float], missing: list[float], goal: Bound | None) -> Figure:
    ours, other = median(withheld), median(missing)
    fields = {"withheld_p50_ms": ours, "missing_p50_ms": other, "probes": len(withheld)}
    return Figure(name, abs(ours - other) * 1_000, "us between medians", goal, None, fields)
