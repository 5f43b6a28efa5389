"""Tool calls on the socket: latencies warm, against an echo of the same bytes, and how soon a change is seen."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from workspaced_events.ids import uuid7

from .bare import Wire, echo, echo_request, latencies_ms
from .daemon import UNCERTAIN_S, Daemon, Place, call_line, daemon, structured
from .measure import Bound, Figure, at_most, interleaved, median, p50s, percentile, pooled

SHOWN_BYTES: Final = (1_000, 4_000)
"""Notes of a usual size are looked at."""
ECHO: Final = "x echo of equal bytes"
CHANGES: Final = 100
"""Publishes and edits whose effect the next call is asked for."""


class _Case(NamedTuple):
    """A call to be measured; `p50`, `p99` and `ratio` are (goal, aim)."""

    name: str
    line: bytes
    notes: int
    p50: tuple[Bound, Bound] | None = None
    p99: tuple[Bound, Bound] | None = None
    ratio: tuple[Bound, Bound] | None = None


# -- warm --


def warm(at: Place) -> Iterator[Figure]:
    """Each tool with 7 notes in the workspace, then the context of 20."""
    notes = usual_notes(at.vault, 20)
    with daemon(at, at.vault) as running, echo(at.sockets) as bare:
        running.wait_for_index()
        with running.client() as client:
            client.publish(workspace_of(notes[:7]))
        yield from _measured(at, running, bare, _cases_of_7(running, notes))
        yield from _just_changed(at, running, bare, notes)
        with running.client() as client:
            client.publish([_pin(note) for note in notes[7:]])
        whole = call_line("get_workspace_context", includeContent=True, maxTotalLength=50_000)
        case = _Case("get_workspace_context.content.20_notes", whole, 20, (at_most(1.2), at_most(0.7)))
        yield from _measured(at, running, bare, [case])


def _cases_of_7(running: Daemon, notes: list[str]) -> list[_Case]:
    wire = running.wire()
    title = structured(wire.ask(call_line("get_note_by_reference", reference=notes[9])))["title"]
    wire.close()
    context = "get_workspace_context"
    return [
        _Case(
            f"{context}.7_notes",
            call_line(context),
            7,
            (at_most(0.3), at_most(0.15)),
            (at_most(2), at_most(1)),
            (at_most(4), at_most(3)),
        ),
        _Case(
            f"{context}.content.7_notes",
            call_line(context, includeContent=True),
            7,
            (at_most(0.45), at_most(0.3)),
            ratio=(at_most(4), at_most(3)),
        ),
        _Case("get_current_note", call_line("get_current_note"), 1),
        _Case("get_current_note.links", call_line("get_current_note", includeLinks=True, includeOutline=True), 1),
        _Case("get_note_by_reference.path", call_line("get_note_by_reference", reference=notes[9]), 1),
        _Case("get_note_by_reference.title", call_line("get_note_by_reference", reference=title), 1),
        _Case("status", b'{"jsonrpc":"2.0","id":1,"method":"workspaced/status"}\n', 0),
    ]


def _measured(at: Place, running: Daemon, bare: Wire, cases: list[_Case]) -> Iterator[Figure]:
    wire = running.wire()
    answers = [wire.ask(case.line) for case in cases]
    for case, answer in zip(cases, answers, strict=True):
        _check_answer(case, answer)
    requests = [echo_request(len(case.line), len(answer)) for case, answer in zip(cases, answers, strict=True)]
    calls, rounds = at.sizes.calls, at.sizes.rounds
    # Each call beside its echo, so that a short slowdown of the machine slows both.
    samplers = [
        sampler
        for case, request in zip(cases, requests, strict=True)
        for sampler in (_asking(wire, case.line, calls), _asking(bare, request, calls))
    ]
    taken = interleaved(rounds, *samplers)
    wire.close()
    for case, answer, ours, echoes in zip(cases, answers, taken[::2], taken[1::2], strict=True):
        fields = {
            "notes": case.notes,
            "vault_notes": at.sizes.notes,
            "in_flight": 1,
            "answer_bytes": len(answer),
            "echo_p50_ms": median(pooled(echoes)),
            "rounds": rounds,
            "calls": rounds * calls,
        }
        yield from _figures(case, ours, echoes, fields)


def _asking(wire: Wire, line: bytes, calls: int) -> Callable[[], list[float]]:
    return lambda: latencies_ms(calls, lambda _: wire.ask(line))


def _figures(
    case: _Case, ours: list[list[float]], echoes: list[list[float]], fields: dict[str, Any]
) -> Iterator[Figure]:
    ratio = median([a / b for a, b in zip(p50s(ours), p50s(echoes), strict=True)])
    for part, value, unit, bounds in (
        ("p50", median(pooled(ours)), "ms", case.p50),
        ("p99", percentile(pooled(ours), 0.99), "ms", case.p99),
        ("ratio", ratio, ECHO, case.ratio),
    ):
        goal, aim = bounds or (None, None)
        yield Figure(f"tools.{case.name}.{part}", value, unit, goal, aim, fields)


def _check_answer(case: _Case, answer: bytes) -> None:
    """The call must give what its name says, or the figure would be of something else."""
    if case.name == "status":
        return
    data = structured(answer)
    if case.name.startswith("get_workspace_context"):
        assert data["summary"]["totalNotes"] == case.notes and "omitted" not in data, data
        if ".content." in case.name:
            entries = [data["activeNote"], *data["pinnedNotes"], *data["temporaryTabs"]]
            assert sum("content" in entry for entry in entries) == case.notes
    elif "links" not in case.name:
        assert data["content"]


def usual_notes(vault: Path, count: int) -> list[str]:
    """Paths of notes of a usual size, in a fixed order."""
    low, high = SHOWN_BYTES
    found = (path for path in sorted(vault.rglob("*.md")) if low <= path.stat().st_size <= high)
    return [path.relative_to(vault).as_posix() for path, _ in zip(found, range(count), strict=False)]


def workspace_of(notes: list[str]) -> list[dict[str, Any]]:
    """Actions after which the workspace holds these notes: one active, half of the others pinned, half in tabs."""
    active, *others = notes
    half = len(others) // 2
    return [
        *(_pin(note) for note in others[:half]),
        *({"type": "temporary_tab_opened", "data": {"note": n, "source": "search"}} for n in others[half:]),
        _look_at(active),
    ]


def _pin(note: str) -> dict[str, Any]:
    return {"type": "note_pinned", "data": {"note": note}}


def _look_at(note: str) -> dict[str, Any]:
    return {"type": "active_note_set", "data": {"note": note}}


# -- just changed --


def _just_changed(at: Place, running: Daemon, bare: Wire, notes: list[str]) -> Iterator[Figure]:
    """The context of 7 notes, each call after a change: no cache is rewarded for what nobody asks twice."""
    edited = at.vault / notes[1]
    before = edited.read_bytes()
    with running.client() as editor:

        def look(_: int) -> None:
            editor.publish([{**_look_at(notes[0]), "id": uuid7()}])

        def edit(number: int) -> None:
            _rewrite(edited, before + b"." * (number % 2))

        line = call_line("get_workspace_context")
        yield _changed(at, running, bare, "state_changed", look, line)
        line = call_line("get_workspace_context", includeContent=True)
        yield _changed(at, running, bare, "note_edited.content", edit, line)
        _rewrite(edited, before)
        time.sleep(UNCERTAIN_S)


def _changed(
    at: Place, running: Daemon, bare: Wire, name: str, change: Callable[[int], None], line: bytes
) -> Figure:
    wire, calls = running.wire(), at.sizes.calls // 2

    def after_each() -> list[float]:
        taken = []
        for number in range(calls):
            change(number)
            taken += latencies_ms(1, lambda _: wire.ask(line))
        return taken

    request = echo_request(len(line), len(wire.ask(line)))
    ours, echoes = interleaved(at.sizes.rounds, after_each, _asking(bare, request, calls))
    wire.close()
    ratio = median([a / b for a, b in zip(p50s(ours), p50s(echoes), strict=True)])
    fields = {"p50_ms": median(pooled(ours)), "echo_p50_ms": median(pooled(echoes)), "notes": 7}
    return Figure(
        f"tools.get_workspace_context.{name}.7_notes.ratio", ratio, ECHO, at_most(6), at_most(4.5), fields
    )


# -- how soon a change is seen --


def visible(at: Place) -> Iterator[Figure]:
    """Publishes by one client and edits on disk, asked for by the very next call of another."""
    notes = usual_notes(at.vault, 10)
    with daemon(at, at.vault) as running, running.client() as editor:
        running.wait_for_index()
        wire = running.wire()
        yield _visible("visible.publish_to_next_call", *_publishes(editor.publish, wire, notes))
        yield _visible("visible.edit_to_next_call", *_edits(at.vault, wire, notes[0]))
        wire.close()


def _visible(name: str, taken: list[float], missed: int) -> Figure:
    return Figure(
        name,
        missed,
        "calls that did not see it",
        at_most(0),
        None,
        {
            "changes": len(taken),
            "p50_ms": median(taken),
            "note": "p50_ms: from the change done to the answer read",
        },
    )


def _publishes(publish: Callable[..., Any], wire: Wire, notes: list[str]) -> tuple[list[float], int]:
    line, taken, missed = call_line("get_current_note"), [], 0
    for number in range(CHANGES):
        note = notes[number % len(notes)]
        publish([{**_look_at(note), "id": uuid7()}])
        started = time.perf_counter_ns()
        answer = wire.ask(line)
        taken.append((time.perf_counter_ns() - started) / 1e6)
        missed += structured(answer)["id"] != note
    return taken, missed


def _rewrite(path: Path, text: bytes) -> None:
    """Saves a file in place, so that it is empty at no moment: an empty note is withheld until it has settled."""
    with open(path, "r+b", buffering=0) as file:
        file.truncate(file.write(text))


def _edits(vault: Path, wire: Wire, note: str) -> tuple[list[float], int]:
    """Rewrites a note in place, every other time with as many bytes as before."""
    path = vault / note
    before = path.read_bytes()
    line, taken, missed = call_line("get_note_by_reference", reference=note), [], 0
    try:
        for number in range(CHANGES):
            text = f"edit {number:08}{'.' * (number // 2)}"
            _rewrite(path, text.encode())
            started = time.perf_counter_ns()
            answer = wire.ask(line)
            taken.append((time.perf_counter_ns() - started) / 1e6)
            missed += structured(answer)["content"] != text
    finally:
        path.write_bytes(before)
        os.utime(path)
    return taken, missed
