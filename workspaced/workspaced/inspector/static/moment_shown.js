/** The moment that is looked at: asked for once, shown by the timeline and by views; and the ways to move it. */

import { get } from "./api.js";
import { foldedTo } from "./folding.js";
import { latest } from "./parts/latest.js";
import { replace, route } from "./router.js";
import { about, at } from "./store.js";
import { computed, effect, signal } from "./vendor/index.js";

/** @typedef {import("./types").Moment} Moment */

const LINK_MS = 200;
// Browsers ignore changes of the address that come faster than a few in a second.

/** What is known of the moment. On an error the former data stay. */
export const shown = signal(/** @type {import("./parts/resource.js").Resource<Moment>} */ ({ stale: true }));

/** The sequence that is looked at, or on its way. */
export const seqShown = computed(() =>
  /^\d+$/.test(at.value) ? Number(at.value) : at.value === "" ? (about.value?.last ?? 0) : (shown.value.data?.seq ?? 0),
);

/**
 * The moment that is wished for, once the log is folded so far. A long log takes seconds, in which another moment may
 * be wished for.
 * @returns {Promise<Moment>}
 */
async function momentAt() {
  await foldedTo(() => {
    const log = about.value;
    return /^\d+$/.test(at.value) ? Number(at.value) - (log?.first ?? 0) + 1 : (log?.events ?? 0);
  });
  return get("/api/state", { at: at.value || undefined });
}

const ask = latest(
  (/** @type {string} */ _place) => momentAt(),
  (/** @type {Moment} */ data, _place, isLast) => {
    shown.value = { data, stale: !isLast };
  },
  (error, _place, isLast) => {
    shown.value = { ...shown.value, error, stale: !isLast };
  },
);

effect(() => {
  const place = at.value;
  // The end of a log that grows moves.
  if (about.value === null) return;
  ask(place);
});

// The link decides; one without a moment is that of the moment that is looked at. It is taken at once, not when a view
// is drawn: by then somebody may have moved on.
effect(() => {
  const [name, place] = route.value;
  // A call or a prompt that is read is the moment that is looked at.
  if ((name === "call" || name === "prompt") && /^\d+$/.test(place ?? "")) at.value = place ?? "";
  if (name !== "at") return;
  if (place !== undefined) at.value = place;
  else if (at.peek() !== "") replace("at", at.peek());
});

let linking = 0;

/**
 * Looks at another moment. The link of the page follows when the moment has come to rest.
 * @param {string | number} place a sequence or an ISO 8601 time; "": the end
 */
export function moveTo(place) {
  at.value = String(place);
  clearTimeout(linking);
  linking = setTimeout(() => {
    if (route.value[0] === "at") replace("at", ...(at.value === "" ? [] : [at.value]));
  }, LINK_MS);
}

/**
 * Looks at the event so many events later, at most at the log's ends.
 * @param {number} events
 */
export function step(events) {
  const log = about.value;
  if (log === null || log.events === 0) return;
  moveTo(Math.min(Math.max(seqShown.value + events, log.first), log.last));
}
