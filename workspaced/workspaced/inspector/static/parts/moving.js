/** Controls that move the moment that is looked at: steps, and a jump to a sequence or time. */

import { get } from "../api.js";
import { moveTo, seqShown, shown, step } from "../moment_shown.js";
import { about } from "../store.js";
import { html, useId, useSignal } from "../vendor/index.js";
import { Failure } from "./resource.js";

export function Steps() {
  const log = about.value;
  const seq = seqShown.value;
  const isFirst = log === null || seq <= log.first;
  const isLast = log === null || seq >= log.last;
  return html`<span class="steps" role="group" aria-label="Steps">
    <button type="button" aria-label="First event" title="first event (Home)" disabled=${isFirst} onClick=${() => moveTo(log?.first ?? "")}>|◀</button>
    <button type="button" aria-label="Event before" title="event before (←; Shift: 10)" disabled=${isFirst} onClick=${() => step(-1)}>◀</button>
    <button type="button" aria-label="Next event" title="next event (→; Shift: 10)" disabled=${isLast} onClick=${() => step(1)}>▶</button>
    <button type="button" aria-label="Last event" title="last event (End)" disabled=${isLast} onClick=${() => moveTo("")}>▶|</button>
  </span>`;
}

/** A field for a sequence or a time. It is asked for before the page moves, so that what is wrong is said here. */
export function Jump() {
  const error = useSignal(/** @type {Error | null} */ (null));
  const field = useId();
  const jump = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const place = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("at")).trim();
    if (place === "") return;
    try {
      /** @type {import("../types").Moment} */
      const found = await get("/api/state", { at: inUtc(place) });
      error.value = null;
      moveTo(found.seq);
    } catch (failed) {
      error.value = /** @type {Error} */ (failed);
    }
  };
  return html`<form class="jump" onSubmit=${jump}>
    <label for=${field}>Go to</label>
    <input id=${field} name="at" placeholder="event, or time" autocomplete="off" aria-invalid=${error.value !== null} />
    <button type="submit">go</button>
    ${error.value && html`<${Failure} error=${error.value} />`}
  </form>`;
}

/**
 * A time without an offset is meant as the page shows times: local. A time alone is one of the day that is shown.
 * @param {string} place
 */
function inUtc(place) {
  const time = /^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(place) ? `${dayShown()}T${place.padStart(5, "0")}` : place;
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(time)) return place;
  const date = new Date(time.replace(" ", "T"));
  if (Number.isNaN(date.getTime())) return place;
  // A Date holds no microseconds; zones do not differ in parts of a second.
  return date.toISOString().replace(/\.\d+Z$/, `${/\.\d+$/.exec(time)?.[0] ?? ""}Z`);
}

function dayShown() {
  const date = new Date(shown.value.data?.told?.time ?? about.value?.lastTime ?? Date.now());
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
