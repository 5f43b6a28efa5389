/**
 * Measures what an event costs the thread of an editor that publishes: `node measure.js SOCKET VAULT EVENTS`.
 *
 * `spentMs` is the time for which the loop did not wait between one event and the next, whatever it ran: the event
 * itself, the look, answers that came in, tries to connect. `cpuMs` is the processor time of the thread meanwhile
 * (Linux): on a machine with other work it tells what was ours. `idleMs` is `spentMs` of nothing. Prints `{"ready": true}` once connected and warm, waits
 * for a line on its standard input, then prints the milliseconds of each event.
 */

import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { Publisher } from "../dist/publisher/index.js";

/** More than the publisher waits to look: each event has a look of its own. */
const BETWEEN_MS = 60;
/** Events before, as of an editor that was not started this second. */
const WARM_EVENTS = 50;
/** Events of nothing, afterwards: what the loop and the machine cost by themselves. */
const IDLE_EVENTS = 100;
const TABS = 30;
const PINS = 5;
const SELECTION_CHARS = 2_000;

const [socket, vault, events] = process.argv.slice(2);
const notes = Array.from({ length: TABS }, (_, number) => `${vault}/note-${number}.md`);
let turn = 0;
const look = () => ({
  active: notes[turn % TABS],
  focused: true,
  tabs: notes.map((path) => ({ path })),
  pins: notes.slice(0, PINS),
  selection: { path: notes[turn % TABS], startLine: 1, endLine: turn + 1, text: "x".repeat(SELECTION_CHARS) },
});

const connected = deferred();
const publisher = new Publisher({
  name: `bench-${process.pid}-1`,
  commands: "bench",
  look,
  socket,
  onChange: ({ daemons }) => {
    if (daemons.some(({ state }) => state === "connected")) connected.resolve();
  },
});
await connected.promise;
await publisher.settled();
await measured(WARM_EVENTS);
process.stdout.write('{"ready":true}\n');
await once(createInterface({ input: process.stdin }), "line");
const measurements = await measured(Number(events));
await publisher.stop();
const idle = await measured(IDLE_EVENTS, () => {});
process.stdout.write(`${JSON.stringify({ ...measurements, idleMs: idle.spentMs })}\n`, () => process.exit(0));

async function measured(count, act = () => publisher.touch()) {
  const made = { spentMs: [], cpuMs: [] };
  for (let event = 0; event < count; event += 1) {
    turn += 1;
    const loop = performance.eventLoopUtilization();
    const before = threadCpuMs();
    act();
    await sleep(BETWEEN_MS);
    made.cpuMs.push(threadCpuMs() - before);
    made.spentMs.push(performance.eventLoopUtilization(loop).active);
  }
  return made;
}

/** So far; the main thread of a process has the process's number. */
function threadCpuMs() {
  const path = `/proc/self/task/${process.pid}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, "utf8").split(" ")[0]) / 1e6 : 0;
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}
