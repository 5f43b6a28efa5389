/** Events over time, one lane per kind. */

import { useResource } from "./parts/resource.js";
import { version } from "./store.js";
import { html } from "./vendor/index.js";

/** @typedef {import("./types").Timeline} Shown */

export function Timeline() {
  const timeline = /** @type {import("./parts/resource.js").Resource<Shown>} */ (
    useResource("/api/timeline", { bins: 100 }, version.value)
  );
  const lanes = timeline.data?.lanes ?? [];
  return html`<section class="timeline" aria-label="Timeline">
    ${lanes.map((lane) => html`<${Lane} key=${lane.lane} lane=${lane} />`)}
  </section>`;
}

/** @param {{ lane: import("./types").LaneCounts }} props */
function Lane({ lane }) {
  const most = Math.max(1, ...lane.counts);
  return html`<div class="lane">
    <span class="lane-name">${lane.lane}</span>
    <svg viewBox="0 0 ${lane.counts.length} 10" preserveAspectRatio="none" role="img" aria-label="events of ${lane.lane}">
      ${lane.counts.map((n, at) => n > 0 && html`<rect key=${at} x=${at} width="1" y=${10 - (10 * n) / most} height="10" />`)}
    </svg>
  </div>`;
}
