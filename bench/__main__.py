"""`python -m bench [--only PREFIX] [--quick] [--dir DIR]`: one JSON line per figure on stdout, progress on stderr.

With `--compare COMMIT` the lines are ratios to that commit (compare.py).

`ok` says whether the goal is reached; a goal missed is no failure of the run. `--quick` shows that everything
works, with counts too small for most goals.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from . import (
    answers,
    context,
    definitions,
    editor_link,
    evals,
    files,
    growth,
    hooks,
    inspector,
    language_server,
    library,
    mcp_calls,
    neovim,
    overlay,
    peers,
    privacy,
    prompt_cost,
    prompt_load,
    proxy,
    publish,
    publishers,
    questions,
    recording,
    replay,
    replication,
    scale,
    search,
    shrink,
    silent,
    stall,
    start,
    tools,
    traces,
    vault,
    visits,
    vscode,
    walk,
)
from .compare import CannotCompare, compare
from .daemon import Place, place
from .measure import FULL, QUICK, Figure, progress

GROUPS: Final[dict[str, Callable[[Place], Iterator[Figure]]]] = {
    "replay.verify": replay.speed,
    "replay.open": replay.opening,
    "visits": visits.renamed,
    "find": shrink.find,
    "shrink": shrink.shrink,
    "publish.append": publish.append,
    "publish.texts": publish.texts,
    "publish.socket.1_client": publish.one_client,
    "publish.socket.64_clients": publish.many_clients,
    "publish.beside_silent": silent.beside,
    "tools": tools.warm,
    "stall": stall.after,
    "start": start.again,
    "past.start": start.in_the_past,
    "visible": tools.visible,
    "walk": walk.walks,
    "privacy": privacy.probes,
    "recording.overhead": recording.overhead,
    "recording.hour": recording.hour,
    "traces": traces.overhead,
    "index.build": vault.build,
    "index.first": vault.first_calls,
    "memory": vault.memory,
    "scale": scale.growth,
    "context.assembly": context.assembly,
    "context.shape": context.shaping,
    "context.long.overhead": prompt_load.overhead,
    "cli": vault.command_line,
}
"""What measures the figures whose names begin so."""

ON_REQUEST: Final[dict[str, Callable[[Place], Iterator[Figure]]]] = {
    "answers": answers.tokens,
    "mcp": mcp_calls.calls,
    "peers": peers.side_by_side,
    "context": context.tokens,
    "context.long": prompt_cost.cost,
    "context.memory": prompt_load.memory,
    "context.pull": context.pulling,
    "definitions": definitions.tokens,
    "eval": evals.figures,
    "files": files.files,
    "growth": growth.figures,
    "growth.notes": growth.by_notes,
    "growth.events": growth.by_events,
    "hooks": hooks.figures,
    "ide": editor_link.figures,
    "inspector": inspector.figures,
    "replication": replication.figures,
    "overlay": overlay.figures,
    "replay.library": library.figures,
    "proxy": proxy.figures,
    "publishers": publishers.figures,
    "publishers.typescript": publishers.typescript,
    "publishers.lsp": language_server.figures,
    "publishers.neovim": neovim.figures,
    "questions": questions.questions,
    "search": search.search,
    "publishers.vscode": vscode.figures,
}
"""The same, for what needs package registries or minutes: measured only when asked for by its name."""


def groups_for(only: str) -> dict[str, Callable[[Place], Iterator[Figure]]]:
    """The groups whose names begin so; and the one that measures the figures whose names begin so.

    Of several that might, it is the one with the longest name: `context.long.state_8k` is no matter of `context`.
    """
    named = GROUPS | ON_REQUEST
    groups = {name: run for name, run in GROUPS.items() if name.startswith(only)}
    above = [name for name in named if only.startswith(name)]
    return groups | {name: named[name] for name in sorted(above, key=len)[-1:]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, one JSON line per figure.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="figures whose names begin so")
    parser.add_argument("--quick", action="store_true", help="small counts: to see that it works")
    parser.add_argument("--dir", type=Path, default=Path.cwd(), metavar="DIR", help="on the disk to measure")
    parser.add_argument("--compare", metavar="COMMIT", help="print ratios to this commit; needs --only")
    options = parser.parse_args(arguments)
    only: str = options.only
    groups = groups_for(only)
    if not groups:
        parser.error(f"no figure begins with {only!r}; there are {', '.join(GROUPS | ON_REQUEST)}")
    if options.compare is not None:
        if not only:
            parser.error("--compare measures a part several times: name it with --only (make: ONLY=)")
        passed_on = ["--only", only, "--dir", str(options.dir.resolve()), *(["--quick"] if options.quick else [])]
        try:
            for line in compare(Path(__file__).parents[1], options.compare, passed_on):
                print(json.dumps(line), flush=True)
        except CannotCompare as error:
            parser.exit(1, f"bench: {error}\n")
        return 0
    with place(options.dir.resolve(), QUICK if options.quick else FULL) as at:
        for name, run in groups.items():
            started = time.monotonic()
            progress(f"{name} ...")
            for figure in run(at):
                if figure.bench.startswith(only):
                    print(figure.line(), flush=True)
            progress(f"{name}: {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
