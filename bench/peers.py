"""Other servers beside ours, the same questions in turns: `make bench ONLY=peers`, or `python -m bench.peers`.

It installs them with npm and pip, so it is run only when asked for. What cannot be installed, started or asked is
a line with `skipped` and the reason. The ratios are to a bare JSON-RPC loop asked in the same rounds: on a busy
machine they hold where milliseconds do not.
"""

import argparse
import contextlib
import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from .daemon import Place, place
from .measure import FULL, QUICK, Bound, Figure, Sizes, at_most, interleaved, median, p50s, pooled, progress
from .peer_install import Skip, install, reason_in
from .peer_list import BARE, BARE_PIPE, CLIENT, PEERS, Ask, Peer, Spot
from .peer_questions import KINDS, Questions, make_questions
from .peer_run import Answered, Client, Row, resident_mb, run, until_quiet, used_s
from .peer_table import skipped, table

PEER_S: Final = 240.0
"""What a server may take in all, after it is installed."""
QUIET_S: Final = 200.0
"""By then it must have come to rest after its start."""
CALL_S: Final = 30.0
FIRST_S: Final = 60.0
"""By then the first right answer to a question must have come."""
ROUND_S: Final = 0.4
"""A round of one server's calls takes about so long, but at least one call."""
LEAST_ROUNDS: Final = 3
OURS: Final = "workspaced"
GOALS: Final[dict[str, Bound]] = {
    "first_read": at_most(0.3),
    "cpu_to_quiet": at_most(1.5),
    "tools_list": at_most(12),
    "read": at_most(0.3),
    "title": at_most(0.3),
    "search_rare": at_most(5),
    "search_common": at_most(5),
    "backlinks": at_most(1),
    "resident": at_most(100),
}
"""Of our own row, with 5,000 notes."""


@dataclass
class Lane:
    """One server in the comparison, and what is known of it so far."""

    peer: Peer
    spot: Spot
    template: Path
    """The vault its own is a copy of."""
    sizes: Sizes
    notes: int
    asks: dict[str, Ask]
    """What it can be asked; a question that fails is taken out."""
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    row: Row | None = None
    spent_s: float = 0.0
    first: dict[str, tuple[float, Answered]] = field(default_factory=dict)
    """Seconds until the first right answer, and that answer."""
    failed: dict[str, str] = field(default_factory=dict)

    def figure(self, kind: str, value: float, unit: str, note: str = "", **fields: object) -> Figure:
        """A figure of this server."""
        notes = "; ".join(filter(None, (self.peer.note, note)))
        known = {"vault_notes": self.notes, **fields, **({"note": notes} if notes else {})}
        goal = GOALS.get(kind) if self.peer.name == OURS else None
        return Figure(f"peers.{kind}.{self.peer.name}", value, unit, goal and self.sizes.whole(goal), None, known)

    def ask(self, ask: Ask, times: int = 1) -> Answered:
        """Asks, at the expense of the time it has; `Skip` when that is used up."""
        assert self.row is not None
        if self.spent_s >= PEER_S:
            raise Skip(f"it had taken more than {PEER_S:.0f} s")
        started = time.monotonic()
        try:
            return self.row.ask(ask, times, min(CALL_S, PEER_S - self.spent_s))
        finally:
            self.spent_s += time.monotonic() - started


def side_by_side(at: Place) -> Iterator[Figure]:
    """All of them."""
    yield from compare(at, PEERS, at.new("peers"))


def compare(at: Place, peers: Sequence[Peer], installed: Path) -> Iterator[Figure]:
    """These of them, installed below `installed`; a table of all figures on stderr at the end."""
    figures: list[Figure] = []
    for figure in _compare(at, peers, installed):
        figures.append(figure)
        yield figure
    progress("\n" + table(figures))


def _compare(at: Place, peers: Sequence[Peer], installed: Path) -> Iterator[Figure]:
    try:
        client_commands = install(CLIENT, installed)
    except Skip as skip:
        for peer in peers:
            yield skipped("all", peer.name, f"no official client: {skip}")
        return
    lanes: list[Lane] = []
    # Not below the usual place, whose name begins with a dot: some servers serve no hidden files.
    with (
        tempfile.TemporaryDirectory(prefix="bench-peers-", dir=at.root.parent) as root,
        Client(client_commands / "python", at.new("client.stderr")) as client,
        contextlib.ExitStack() as running,
    ):
        vaults = Vaults(Path(root), at.sizes)
        for peer in peers:
            progress(f"  {peer.name}")
            try:
                commands = client_commands if peer.package is None else install(peer.package, installed)
            except Skip as skip:
                yield skipped("all", peer.name, str(skip))
                continue
            home = Path(root) / peer.name
            lane = _lane(peer, Spot(commands, home / "vault", home / "home", client_commands), vaults)
            running.push(lane.stack)
            try:
                yield from _from_cold(at, client, lane)
                lanes.append(lane)
            except Skip as skip:
                yield skipped("all", peer.name, str(skip))
                lane.stack.close()
        for kind in KINDS:
            progress(f"  {kind}, interleaved")
            yield from _in_turns(lanes, kind)
        for lane in lanes:
            assert lane.row is not None
            pids = lane.row.pids()
            yield lane.figure("resident", resident_mb(pids), "MB", processes=len(pids))
            lane.stack.close()
            yield _written(lane)


def _lane(peer: Peer, spot: Spot, vaults: "Vaults") -> Lane:
    notes = min(peer.notes or vaults.sizes.notes, vaults.sizes.notes)
    template, questions = vaults.of(notes)
    return Lane(peer, spot, template, vaults.sizes, notes, peer.asks(questions, spot.vault))


class Vaults:
    """The vaults that servers get copies of, and the questions on them; made when first asked for."""

    def __init__(self, root: Path, sizes: Sizes) -> None:
        self.sizes = sizes
        self._root = root
        self._made: dict[int, tuple[Path, Questions]] = {}

    def of(self, notes: int) -> tuple[Path, Questions]:
        """One of so many notes."""
        if notes not in self._made:
            path = self._root / f"vault-{notes}"
            self._made[notes] = path, make_questions(path, notes)
        return self._made[notes]


# -- one after the other: start, rest, the first answer to each question --


def _from_cold(at: Place, client: Client, lane: Lane) -> Iterator[Figure]:
    """Starts the server, to be kept running, and learns which questions it answers. `Skip` if it is of no use."""
    started = time.monotonic()
    taken = [_start(at, client, lane) for _ in range(1 if at.sizes.quick else lane.peer.starts)]
    assert lane.row is not None
    yield lane.figure("first_read", median(taken), "s", starts=len(taken), worst_s=max(taken))
    quiet = until_quiet(partial(used_s, lane.row), started + QUIET_S)
    names, size = lane.row.tools(CALL_S)
    lane.spent_s = time.monotonic() - started
    yield lane.figure("tools_list", size / 1000, "KB", tools=len(names), bytes=size)
    yield from _first_answers(lane, names)
    try:
        after = until_quiet(partial(used_s, lane.row), time.monotonic() + FIRST_S)
    except Skip:
        after = used_s(lane.row)
    note = "from start to rest; with_first_calls_s: and the first answer to each question, indexes made only then"
    yield lane.figure("cpu_to_quiet", quiet, "s of CPU", note, with_first_calls_s=after)


def _start(at: Place, client: Client, lane: Lane) -> float:
    """Seconds from nothing to the first right read; it is left running, one that ran before is ended."""
    lane.stack.close()
    shutil.rmtree(lane.spot.vault.parent, ignore_errors=True)
    lane.spot.home.mkdir(parents=True)
    shutil.copytree(lane.template, lane.spot.vault)
    started = time.monotonic()
    running = run(at, client, lane.peer, lane.spot, 2 * CALL_S)
    lane.row = lane.stack.enter_context(running)
    _first_right(lane, "read", FIRST_S)
    return time.monotonic() - started


def _first_right(lane: Lane, kind: str, within_s: float) -> None:
    """Asks until the answer is right; `Skip` if it never is."""
    ask, started, pause = lane.asks[kind], time.monotonic(), 0.01
    while True:
        try:
            answered = lane.ask(ask)
            if ask.needle in answered.text:
                lane.first[kind] = time.monotonic() - started, answered
                return
            problem = f"not the right answer: {reason_in(answered.text)}"
        except Skip as skip:
            problem = str(skip)
        if time.monotonic() - started > within_s or lane.spent_s >= PEER_S:
            raise Skip(f"no right answer within {time.monotonic() - started:.0f} s: {problem}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def _first_answers(lane: Lane, names: list[str]) -> Iterator[Figure]:
    floor = lane.asks.keys() == {"read"}
    for kind in KINDS:
        try:
            if kind not in lane.asks:
                if floor:
                    continue
                raise Skip("it has no such call")
            if lane.asks[kind].tool not in names:
                raise Skip(f"it has no tool {lane.asks[kind].tool}")
            _first_right(lane, kind, FIRST_S)
        except Skip as skip:
            lane.asks.pop(kind, None)
            yield skipped(kind, lane.peer.name, str(skip))


# -- in turns --


def _in_turns(lanes: Sequence[Lane], kind: str) -> Iterator[Figure]:
    """One question to all servers that answer it, in rounds; for the ratios the bare loops read a note in each."""
    floors = {lane.peer.name: lane for lane in lanes if lane.peer in (BARE, BARE_PIPE)}
    asked = [lane for lane in lanes if kind in lane.asks and lane.peer.name not in floors]
    if not asked:
        return
    lanes = [*floors.values(), *asked]
    samplers = [_sampler(lane, "read" if lane.peer.name in floors else kind) for lane in lanes]
    taken = dict(
        zip([lane.peer.name for lane in lanes], interleaved(lanes[0].sizes.rounds, *samplers), strict=True)
    )
    for lane in lanes:
        if lane in asked or kind == "read":
            base = BARE.name if lane.peer.via == "client" else BARE_PIPE.name
            yield _taken(lane, kind, taken[lane.peer.name], taken.get(base, []))


def _sampler(lane: Lane, kind: str) -> Callable[[], list[float]]:
    """Takes a round; once it fails, empty ones."""
    ask = lane.asks[kind]
    calls = 0

    def sample() -> list[float]:
        nonlocal calls
        if kind in lane.failed:
            return []
        try:
            if not calls:
                one = min(lane.ask(ask, 2).ms) / 1000
                calls = max(1, min(lane.sizes.calls, int(ROUND_S / one)))
            return lane.ask(ask, calls).ms
        except Skip as skip:
            lane.failed[kind] = str(skip)
            return []

    return sample


def _taken(lane: Lane, kind: str, rounds: list[list[float]], base: list[list[float]]) -> Figure:
    name, whole = lane.peer.name, [samples for samples in rounds if samples]
    if len(whole) < min(LEAST_ROUNDS, len(rounds)):
        return skipped(kind, name, lane.failed.get(kind, "too few rounds"))
    pairs = [(ours, bare) for ours, bare in zip(rounds, base, strict=False) if ours and bare]
    ratios = [a / b for a, b in zip(p50s([a for a, _ in pairs]), p50s([b for _, b in pairs]), strict=True)]
    waited, answer = lane.first[kind]
    return lane.figure(
        kind,
        median(pooled(whole)),
        "ms",
        lane.asks[kind].note,
        ratio=median(ratios) if ratios else None,
        ratio_to=(BARE if lane.peer.via == "client" else BARE_PIPE).name,
        first_right_after_ms=1000 * waited,
        tool=lane.asks[kind].tool,
        answer_bytes=len(answer.text.encode()),
        rounds=len(whole),
        calls=sum(map(len, whole)),
    )


# -- what was left in the vault --


def _written(lane: Lane) -> Figure:
    """How many files a server that was only asked has added, changed or removed."""
    before, after = _digests(lane.template), _digests(lane.spot.vault)
    touched = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return lane.figure("files_written", len(touched), "files written into the vault", examples=touched[:3])


def _digests(vault: Path) -> dict[str, bytes]:
    return {
        path.relative_to(vault).as_posix(): hashlib.sha256(path.read_bytes()).digest()
        for path in vault.rglob("*")
        if path.is_file()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures some of them, as `python -m bench` measures all."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Measure ours beside others.")
    parser.add_argument(
        "--peer", action="append", choices=[peer.name for peer in PEERS], help="only this and the floors"
    )
    parser.add_argument("--quick", action="store_true", help="small counts: to see that it works")
    parser.add_argument("--dir", type=Path, default=Path.cwd(), metavar="DIR", help="on the disk to measure")
    parser.add_argument(
        "--installed", type=Path, metavar="DIR", help="install there, and keep it for the next run"
    )
    options = parser.parse_args(arguments)
    chosen = [peer for peer in PEERS if not options.peer or peer.name in options.peer or peer in (BARE, BARE_PIPE)]
    with place(options.dir.resolve(), QUICK if options.quick else FULL) as at:
        installed = options.installed.resolve() if options.installed else at.new("peers")
        for figure in compare(at, chosen, installed):
            print(figure.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
