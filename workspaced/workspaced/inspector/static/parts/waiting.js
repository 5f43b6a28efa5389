/** What stands where values are on their way: a long log is folded first, and this says how far that is. */

import { folding } from "../folding.js";
import { opening } from "../store.js";
import { html } from "../vendor/index.js";
import { count } from "./format.js";

/** The place of a view that has no values yet. */
export function Waiting() {
  const progress = folding.value;
  if (!progress) return html`<p class="quiet" role="status" aria-busy="true">Reading the log.</p>`;
  const { folded, events } = progress;
  return html`<p class="quiet" role="status" aria-busy="true">
    <progress max=${events} value=${folded} aria-label="Events folded"></progress> folded ${folded.toLocaleString("en")} of${" "}
    ${count(events, "event")}
  </p>`;
}

/** The place of a view before the log is open. */
export function OpeningLog() {
  const progress = opening.value;
  return html`<p class="quiet" role="status" aria-busy="true">
    Opening the log.${" "}
    ${progress && html`<progress max=${progress.of} value=${progress.done} aria-label="Verified"></progress> verified
    ${" "}${Math.floor((100 * progress.done) / progress.of)} %`}
  </p>`;
}
