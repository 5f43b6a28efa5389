/** Whether the workspace is paused, as the daemon's events tell it. */

import type { Notice, Pause } from "./api.js";
import type { EventType } from "./api.js";

export const PAUSE_EVENTS: readonly EventType[] = ["pause_started", "pause_ended"];

export class PauseState {
  readonly #onPaused: (paused: Pause | undefined) => void;
  #paused: Pause | undefined;

  /** @param onPaused told of every change. */
  constructor(onPaused: (paused: Pause | undefined) => void) {
    this.#onPaused = onPaused;
  }

  get paused(): Pause | undefined {
    return this.#paused;
  }

  /** What the daemon says of the present. */
  is(paused: Pause | null | undefined): void {
    const now = paused ?? undefined;
    if (now?.since === this.#paused?.since && now?.until === this.#paused?.until) return;
    this.#paused = now;
    this.#onPaused(now);
  }

  /** Takes the next events. */
  take(notice: Notice): void {
    if (notice.kind === "fresh") this.is(undefined);
    if (notice.kind !== "events") return;
    for (const event of notice.events) {
      if (event.type === "pause_ended") this.is(undefined);
      if (event.type === "pause_started") {
        const { until } = event.data;
        this.is({ since: this.#paused?.since ?? event.time, ...(until == null ? {} : { until }) });
      }
    }
  }
}
