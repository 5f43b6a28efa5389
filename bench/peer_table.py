"""The figures of the comparison as a table for people, and the line of a figure that could not be taken."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .measure import Figure


@dataclass(frozen=True)
class Skipped(Figure):
    """A figure that could not be taken."""

    reason: str = ""

    def line(self) -> str:
        return json.dumps({"bench": self.bench, "value": None, "skipped": self.reason}, ensure_ascii=False)


def skipped(kind: str, name: str, reason: str) -> Skipped:
    """The line that stands where `peers.kind.name` would."""
    return Skipped(f"peers.{kind}.{name}", 0.0, "", reason=reason)


COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("read", "read p50, bare loop = 1.0"),
    ("first_read", "first good read, cold, s"),
    ("cpu_to_quiet", "CPU s to quiet (with first calls)"),
    ("title", "by title ms"),
    ("search_rare", "search rare ms"),
    ("search_common", "search common ms"),
    ("backlinks", "backlinks ms"),
    ("resident", "resident MB"),
    ("tools_list", "tools / list KB"),
    ("files_written", "files written"),
)


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table, a row for each server, the reasons of those left out below it."""
    known: dict[str, dict[str, Figure]] = {}
    reasons = []
    for figure in figures:
        _, kind, name = figure.bench.split(".", 2)
        if not isinstance(figure, Skipped):
            known.setdefault(name, {})[kind] = figure
        elif "no such call" not in figure.reason:
            reasons.append(f"- {name}, {kind}: {figure.reason}")
    head = ["server", *(title for _, title in COLUMNS)]
    rows = [[name, *(_cell(of.get(kind)) for kind, _ in COLUMNS)] for name, of in known.items()]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *reasons]).rstrip()


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    kind, fields = figure.bench.split(".")[1], figure.fields
    value = f"{figure.value:.3g}" if figure.value < 1_000 else f"{figure.value:,.0f}"
    if kind == "read":
        ratio = "-" if fields["ratio"] is None else f"{fields['ratio']:.2f}"
        return f"{ratio} ({value} ms)"
    if kind == "cpu_to_quiet":
        return f"{value} ({fields['with_first_calls_s']:.3g})"
    if kind == "tools_list":
        return f"{fields['tools']} / {value}"
    return f"{value} (names)" if "file names" in fields.get("note", "") else value
