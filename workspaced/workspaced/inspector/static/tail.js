/**
 * What the inspector tells of the log while the page is open: that it grew, and whether its daemon is there.
 *
 * A browser opens few connections to one place at once, so of all tabs only one follows, and tells the others. Which
 * one, a lock decides: when its tab is closed, the next one goes on.
 */

import { ApiError, get, inspectorId, stream } from "./api.js";
import { followFolding } from "./folding.js";
import { about, daemon, opening, version } from "./store.js";
import { batch } from "./vendor/index.js";

/** @typedef {{ event: string, data: any }} Message */

const RETRY_FIRST_MS = 1000;
const RETRY_MAX_MS = 15_000;
/** How often views ask again at most, however fast the log grows. */
const PACE_MS = 250;

/** The other tabs. */
let others = /** @type {BroadcastChannel | null} */ (null);
/** What a tab that comes later must know. */
const latest = /** @type {Map<string, Message>} */ (new Map());
let holds = false;
let timer = 0;

/** Follows the log from now on. */
export function followLog() {
  const name = `workspaced-tail-${inspectorId()}`;
  const channel = (others = new BroadcastChannel(name));
  channel.onmessage = ({ data }) => {
    if (data === "new") latest.forEach((message) => holds && channel.postMessage(message));
    else if (!holds) take(data);
  };
  channel.postMessage("new");
  navigator.locks.request(name, hold);
}

/** Reads the stream, again and again. */
async function hold() {
  holds = true;
  const { signal } = new AbortController();
  for (let retryMs = RETRY_FIRST_MS; ; retryMs = Math.min(2 * retryMs, RETRY_MAX_MS)) {
    try {
      for await (const message of stream("/api/tail", signal)) {
        retryMs = RETRY_FIRST_MS;
        tell(message);
      }
      tell(away("The inspector ended."));
    } catch (error) {
      tell(away(error instanceof ApiError ? `${error.message} ${error.hint}` : String(error)));
      if (error instanceof ApiError && error.code === "TOKEN_WRONG") return;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/**
 * @param {string} why
 * @returns {Message}
 */
const away = (why) => ({ event: "daemon", data: { connected: false, why } });

/** @param {Message} message */
function tell(message) {
  if (message.event !== "grew") latest.set(message.event, message);
  take(message);
  others?.postMessage(message);
}

/** @param {Message} message */
function take({ event, data }) {
  switch (event) {
    case "opening":
      opening.value = data;
      break;
    case "opened":
      followFolding();
      batch(() => {
        opening.value = null;
        daemon.value = null;
      });
      askAgain();
      break;
    case "grew":
      askAgain();
      break;
    case "daemon":
      daemon.value = data;
  }
}

/** Lets the views ask again, a little later; what grows meanwhile is asked for at once. */
function askAgain() {
  if (timer) return;
  timer = setTimeout(async () => {
    timer = 0;
    try {
      about.value = await get("/api/about");
    } catch {
      return; // the views say it
    }
    version.value += 1;
  }, PACE_MS);
}
