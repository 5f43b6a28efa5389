"""VS Code: for how long the extension holds the thread that all extensions share.

A profile of a real extension host (tests/support/vscode_host.py) every 100 us, while notes are opened and text is
selected. A turn is a stretch of samples in which our code is on the stack, with all that it calls. It is measured
by the clock: on a busy machine a turn holds what others ran meanwhile, too.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .daemon import Place, daemon
from .measure import Figure, at_most, percentile, progress

GOAL_MS: Final = 2.0
PARTS: Final = 10
ROUNDS: Final = 10
"""Of a part: a note is opened, and text selected in it three times."""
NOTES: Final = 20
MEASURE: Final = """
const [rounds, ...paths] = args;
const { Session } = process.getBuiltinModule("node:inspector/promises");
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: 100 });
let events = 0;
const { window } = vscode;
const { onDidChangeTextEditorSelection, onDidChangeActiveTextEditor, tabGroups } = window;
const seen = [onDidChangeTextEditorSelection, onDidChangeActiveTextEditor, tabGroups.onDidChangeTabs]
  .map((event) => event(() => { events += 1; }));
await session.post("Profiler.start");
for (let round = 0; round < rounds; round += 1) {
  const uri = vscode.Uri.file(paths[round % paths.length]);
  const editor = await window.showTextDocument(uri, { preview: round % 2 === 0 });
  for (let line = 1; line <= 3; line += 1) editor.selection = new vscode.Selection(0, 0, line, 0);
  await new Promise((resolve) => setTimeout(resolve, 60));
}
const { profile: { nodes, samples, timeDeltas } } = await session.post("Profiler.stop");
session.disconnect();
for (const each of seen) each.dispose();
const isOurs = new Map();
const mark = (node, above) => {
  const ours = above || /workspaced\\/dist\\/extension\\.js$/.test(node.callFrame.url);
  isOurs.set(node.id, ours);
  for (const child of node.children ?? []) mark(byId.get(child), ours);
};
const byId = new Map(nodes.map((node) => [node.id, node]));
mark(nodes[0], false);
const turns = [];
let turn = 0;
samples.forEach((sample, at) => {
  if (isOurs.get(sample)) turn += timeDeltas[at + 1] ?? 0;
  else if (turn > 0) turn = void turns.push(turn) ?? 0;
});
return { events, turns };
"""


def figures(at: Place) -> Iterator[Figure]:
    """With the daemon running, stopped, and gone."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.vscode_host import MISSING, Window

    if MISSING is not None:
        progress(f"vscode: {MISSING}")
        return
    vault = at.new("notes")
    vault.mkdir()
    for number in range(NOTES):
        (vault / f"n{number}.md").write_text("# A note\n\nwith\nsome\nlines\n")
    paths = [str(path) for path in sorted(vault.iterdir())]

    def measured(window: Window, parts: int = 1 if at.sizes.quick else PARTS) -> list[dict[str, Any]]:
        return [window.do(MEASURE, ROUNDS, *paths) for _ in range(parts)]

    with daemon(at, vault, name="vscode") as running:
        window = Window(vault, {"HOME": str(at.root), "WORKSPACED_SOCKET": str(running.socket)})
        measured(window, 1)  # so that what is measured is compiled
        yield _figure("running", measured(window))
        os.kill(running.pid, signal.SIGSTOP)
        try:
            yield _figure("stopped", measured(window))
        finally:
            os.kill(running.pid, signal.SIGCONT)
    yield _figure("gone", measured(window))
    window.kill()


def _figure(daemon_is: str, parts: list[dict[str, Any]]) -> Figure:
    turns = [each / 1_000 for part in parts for each in part["turns"]] or [0.0]
    events = sum(part["events"] for part in parts)
    # Each turn is charged to one event: the events of one look share its turns.
    each_event = turns + [0.0] * max(0, events - len(turns))
    fields = {
        "turn_p50": percentile(turns, 0.5),
        "turn_p99": percentile(turns, 0.99),
        "max": max(turns),
        "turns": len(turns),
        "events": events,
        "ms_per_event": sum(turns) / max(1, events),
    }
    return Figure(
        f"publishers.vscode.{daemon_is}.p99",
        percentile(each_event, 0.99),
        "ms on the thread",
        at_most(GOAL_MS),
        fields=fields,
    )
