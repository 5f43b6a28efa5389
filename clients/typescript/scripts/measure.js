/**
 * Measures what an event costs the thread of an editor that publishes: `node measure.js SOCKET VAULT EVENTS`.
 *
 * Every stretch of work on the thread between one event and the next counts, whatever runs it: the event itself, the
 * look, answers that come in, tries to connect; Node names each of them to async_hooks, whose own cost counts too.
 * `cpuMs` is the processor time of the thread meanwhile (Linux): on a machine with other work it tells what was ours. Prints `{"ready": true}` once connected and warm, waits for a line on its standard input, then prints
 * the milliseconds of each event.
 */

import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { Publisher } from "../dist/publisher/index.js";

/** More than the publisher waits to look: each event has a look of its own. */
const BETWEEN_MS = 60;
/** Events before, as of an editor that was not started this second. */
const WARM_EVENTS = 50;
const TABS = 30;
const PINS = 5;
const SELECTION_CHARS = 2_000;

const [socket, vault, events] = process.argv.slice(2);
let spentMs = 0;
let depth = 0;
let beganMs = 0;
const hook = createHook({
  init() {},
  before() {
    if (depth === 0) beganMs = performance.now();
    depth += 1;
  },
  after() {
    depth -= 1;
    if (depth === 0) spentMs += performance.now() - beganMs;
  },
});

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
hook.enable();
await measured(WARM_EVENTS);
process.stdout.write('{"ready":true}\n');
await once(createInterface({ input: process.stdin }), "line");
const measurements = await measured(Number(events));
process.stdout.write(`${JSON.stringify(measurements)}\n`, () => process.exit(0));

async function measured(count) {
  const made = { spentMs: [], cpuMs: [] };
  for (let event = 0; event < count; event += 1) {
    turn += 1;
    spentMs = 0;
    const before = threadCpuMs();
    publisher.touch();
    await sleep(BETWEEN_MS);
    made.cpuMs.push(threadCpuMs() - before);
    made.spentMs.push(spentMs);
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
