/** Plays the log: moves the moment as time went on then, faster if wanted, without the gaps in which nothing was. */

import { get } from "./api.js";
import { moveTo, seqShown, shown } from "./moment_shown.js";
import { about } from "./store.js";
import { signal } from "./vendor/index.js";

export const SPEEDS = [1, 10, 100];

const GAP_MS = 3000;
// A longer wait for the next event is skipped.
const PAGE_EVENTS = 500;
const SAID_MS = 4000;

/** Times as fast as the log's own time. */
export const speed = signal(1);
export const isPlaying = signal(false);
/** Milliseconds of the log's time that were skipped just now; 0: none. */
export const skippedMs = signal(0);

/** @typedef {{ seq: number, timeUs: number }} Next */

/** Plays from the moment on that is looked at; from the log's beginning if that is its end. */
export function play() {
  const log = about.value;
  if (log === null || log.events === 0 || isPlaying.value) return;
  if (seqShown.value >= log.last) moveTo(log.first);
  isPlaying.value = true;
  run().finally(() => {
    isPlaying.value = false;
  });
}

export const pause = () => {
  isPlaying.value = false;
};

async function run() {
  let seq = seqShown.value;
  let logMs = await timeMsOf(seq);
  let before = performance.now();
  /** @type {Next[]} */
  let ahead = [];
  while (isPlaying.value) {
    if (ahead.length === 0) {
      ahead = /** @type {import("./types").Events} */ (await get("/api/events", { from: seq + 1, limit: PAGE_EVENTS }))
        .events.map(({ seq, timeUs }) => ({ seq, timeUs }));
      before = performance.now();
    }
    const [next] = ahead;
    if (next === undefined) return;
    const now = await nextFrame();
    // Somebody else moved: the play goes on from there.
    if (seqShown.value !== seq) {
      seq = seqShown.value;
      logMs = await timeMsOf(seq);
      ahead = [];
      continue;
    }
    logMs += (now - before) * speed.value;
    before = now;
    const waitMs = next.timeUs / 1000 - logMs;
    // Where the clock was set back, the next event is before this one.
    if (waitMs / speed.value > GAP_MS || waitMs < -GAP_MS * speed.value) {
      say(Math.max(waitMs, 0));
      logMs = next.timeUs / 1000;
    }
    const passed = ahead.findIndex((event) => event.timeUs / 1000 > logMs);
    const count = passed === -1 ? ahead.length : passed;
    if (count === 0) continue;
    seq = /** @type {Next} */ (ahead[count - 1]).seq;
    ahead = ahead.slice(count);
    moveTo(seq);
  }
}

let saying = 0;

/** @param {number} ms that are skipped */
function say(ms) {
  skippedMs.value = ms;
  clearTimeout(saying);
  saying = setTimeout(() => (skippedMs.value = 0), SAID_MS);
}

/** @param {number} seq */
async function timeMsOf(seq) {
  const data = shown.peek().data;
  if (data?.told && data.seq === seq) return data.told.timeUs / 1000;
  const found = /** @type {import("./types").Events} */ (await get("/api/events", { from: seq, limit: 1 }));
  return (found.events[0]?.timeUs ?? 0) / 1000;
}

const nextFrame = () => new Promise((/** @type {(now: number) => void} */ resolve) => requestAnimationFrame(resolve));

