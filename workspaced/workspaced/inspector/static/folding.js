/** How far the log is folded, asked for until all of it is: moments are answered once they are folded. */

import { get } from "./api.js";
import { signal } from "./vendor/index.js";

/** @typedef {import("./types").Folding} Folding */

const ASK_MS = 150;

/** Undefined: not known yet; null: nothing is left to fold. */
export const folding = signal(/** @type {Folding | null | undefined} */ (undefined));

let rounds = 0;

/** Asks from now on, until all of the log is folded. */
export async function followFolding() {
  const round = (rounds += 1);
  for (;;) {
    let progress = /** @type {Folding | null} */ (null);
    try {
      progress = await get("/api/folding");
    } catch {
      // the views say it
    }
    if (round !== rounds) return;
    folding.value = progress && progress.folded < progress.events ? progress : null;
    if (folding.value === null) return;
    await pause();
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, ASK_MS));

/**
 * Returns once so many events are folded.
 * @param {() => number} wanted asked again and again, since others may be wished for meanwhile
 */
export async function foldedTo(wanted) {
  while (folding.value === undefined || (folding.value !== null && folding.value.folded < wanted())) {
    await pause();
  }
}
