/** Events over time, one lane per kind; the scrubber, which shows and sets the moment that is looked at; its buttons.
 * It takes at most a quarter of a small screen, and folds to its buttons. */

import { get } from "./api.js";
import { moveTo, seqShown, shown, step } from "./moment_shown.js";
import { Jump, Steps } from "./parts/moving.js";
import { clock, count, day } from "./parts/format.js";
import { laneChart } from "./parts/lane_chart.js";
import { latest } from "./parts/latest.js";
import { Failure } from "./parts/resource.js";
import { link, route } from "./router.js";
import { about } from "./store.js";
import { effect, html, signal, useEffect, useRef, useSignal } from "./vendor/index.js";

/** @typedef {import("./types").Timeline} Shown */
/** @typedef {import("./parts/lane_chart.js").Stretch} Stretch */

const BINS = 600;
const TABLE_BINS = 12;
const LEAST_MS = 1;
const ZOOM_BY = 2;
const STEPS = 10;

/** What is zoomed to; null: all. */
const zoom = signal(/** @type {Stretch | null} */ (null));
/** The time at the scrubber while it is dragged. */
const draggedMs = signal(/** @type {number | null} */ (null));
const hoveredMs = signal(/** @type {number | null} */ (null));
/** Whether only the buttons are shown; a narrow screen is for the view. */
const isFolded = signal(matchMedia("(max-width: 600px)").matches);

export function Timeline() {
  const counts = useSignal(/** @type {Shown | null} */ (null));
  const failure = useSignal(/** @type {Error | null} */ (null));
  useEffect(() => follow(counts, failure), []);
  if (failure.value) return html`<${Failure} error=${failure.value} />`;
  const isEmpty = about.value !== null && about.value.events === 0;
  if (isEmpty) return null;
  return html`<section class="timeline" aria-label="Timeline">
    ${!isFolded.value && html`<${Chart} counts=${counts} />`}
    <${Bar} counts=${counts.value} />
  </section>`;
}

/**
 * Keeps the counts those of the stretch that is zoomed to, and of a log that grows.
 * @param {import("@preact/signals").Signal<Shown | null>} counts
 * @param {import("@preact/signals").Signal<Error | null>} failure
 */
function follow(counts, failure) {
  const ask = latest(
    (/** @type {Stretch | null} */ stretch) => get("/api/timeline", { ...asked(stretch), bins: BINS }),
    (/** @type {Shown} */ answer) => (counts.value = answer),
    (error) => (failure.value = error),
  );
  return effect(() => {
    if (about.value !== null) ask(zoom.value);
  });
}

/** @param {Stretch | null} stretch */
const asked = (stretch) =>
  stretch ? { beginUs: Math.round(stretch.beginMs * 1000), endUs: Math.round(stretch.endMs * 1000) } : {};

// -- the chart --

/** @param {{ counts: import("@preact/signals").Signal<Shown | null> }} props */
function Chart({ counts }) {
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  const chart = useRef(/** @type {import("./parts/lane_chart.js").LaneChart | null} */ (null));
  const isReady = useSignal(false);
  const width = useSignal(0);
  useEffect(() => {
    let isGone = false;
    laneChart(/** @type {HTMLElement} */ (root.current), {
      zoom: (stretch) => zoomTo(stretch, counts.peek()),
      zoomOut: () => (zoom.value = null),
      pick: (ms) => moveTo(isoOf(ms)),
      hover: (ms) => (hoveredMs.value = ms),
      resized: (px) => (width.value = px),
    }).then((made) => {
      if (isGone) return made.destroy();
      chart.current = made;
      isReady.value = true;
    });
    return () => {
      isGone = true;
      chart.current?.destroy();
    };
  }, []);
  const data = counts.value;
  const rows = data ? rowsOf(data) : [];
  const stretch = data ? (zoom.value ?? stretchOf(data)) : null;
  useEffect(() => {
    if (!isReady.value || data === null || stretch === null) return;
    chart.current?.draw({ stretch, binned: stretchOf(data), rows });
  }, [isReady.value, data, zoom.value]);
  return html`<div class="timeline-chart">
    <div class="lane-names" aria-hidden="true">
      ${rows.map((row) => html`<span key=${row.name} class="lane-name">${row.name}</span>`)}
    </div>
    <div class="lane-bars" title="Drag to zoom in, click to go to a moment.">
      <div ref=${root}></div>
      ${isReady.value && data && stretch && html`<${Scrubber} width=${width.value} stretch=${stretch} />`}
    </div>
  </div>`;
}

/**
 * The lanes that the log has events in.
 * @param {Shown} data
 */
function rowsOf(data) {
  const seen = data.lanes.filter(({ counts }) => counts.length > 0);
  return seen.map(({ lane, counts }) => ({ name: `${lane}`, colour: `--lane-${lane}`, counts }));
}

/** @param {Shown} data @returns {Stretch} */
function stretchOf({ beginUs, endUs }) {
  // A single moment is shown in the middle of a second.
  const least = endUs - beginUs < 1 ? 500_000 : 0;
  return { beginMs: (beginUs - least) / 1000, endMs: (endUs + least + 1) / 1000 };
}

/** @param {Stretch} stretch @param {Shown | null} data */
function zoomTo(stretch, data) {
  if (data === null) return;
  const first = data.firstUs / 1000;
  const last = data.lastUs / 1000;
  const lengthMs = Math.max(stretch.endMs - stretch.beginMs, LEAST_MS);
  if (lengthMs >= last - first) {
    zoom.value = null;
    return;
  }
  const beginMs = Math.min(Math.max(stretch.beginMs, first), last - lengthMs);
  zoom.value = { beginMs, endMs: beginMs + lengthMs };
}

/** @param {{ at: number, counts: Shown }} props */
function Hovered({ at, counts }) {
  const { beginMs, endMs } = stretchOf(counts);
  const found = counts.lanes.flatMap(({ lane, counts: each }) => {
    const bin = Math.floor(((at - beginMs) / (endMs - beginMs)) * each.length);
    const n = each[bin] ?? 0;
    return n ? [`${lane} ${n}`] : [];
  });
  return html`<time>${day(isoOf(at))} ${clock(isoOf(at))}</time> · ${found.length ? `events: ${found.join(", ")}` : "no events"}
    <span class="quiet"> in ${lengthText((endMs - beginMs) / BINS)}</span>`;
}

/**
 * The line at the moment that is looked at. It moves without the chart being drawn again.
 * @param {{ width: number, stretch: Stretch }} props `width`: of the chart, in CSS pixels
 */
function Scrubber({ width, stretch }) {
  const line = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { data } = shown.value;
  const ms = draggedMs.value ?? (data?.told ? data.told.timeUs / 1000 : null);
  useEffect(() => {
    if (line.current === null || ms === null) return;
    const part = (ms - stretch.beginMs) / (stretch.endMs - stretch.beginMs);
    line.current.style.transform = `translateX(${width * Math.min(Math.max(part, 0), 1)}px)`;
  });
  const drag = (/** @type {PointerEvent} */ event) => {
    const left = event.clientX - /** @type {HTMLElement} */ (line.current?.parentElement).getBoundingClientRect().left;
    const to = stretch.beginMs + Math.min(Math.max(left / width, 0), 1) * (stretch.endMs - stretch.beginMs);
    draggedMs.value = to;
    moveTo(isoOf(to));
  };
  const rest = () => {
    draggedMs.value = null;
    if (seqShown.value) moveTo(seqShown.value);
  };
  const log = about.value;
  const isOutside = ms !== null && (ms < stretch.beginMs || ms > stretch.endMs);
  return html`<div ref=${line} class="scrubber ${isOutside ? "outside" : ""}">
    <div
      class="scrubber-thumb"
      role="slider"
      tabindex="0"
      aria-label="Moment"
      aria-valuemin=${log?.first ?? 0}
      aria-valuemax=${log?.last ?? 0}
      aria-valuenow=${seqShown.value}
      aria-valuetext=${data?.told ? `event ${data.seq}: ${data.told.who} ${data.told.sentence}` : `event ${seqShown.value}`}
      onPointerDown=${(/** @type {PointerEvent} */ event) => {
        /** @type {HTMLElement} */ (event.currentTarget).setPointerCapture(event.pointerId);
        drag(event);
      }}
      onPointerMove=${(/** @type {PointerEvent} */ event) => draggedMs.peek() !== null && drag(event)}
      onPointerUp=${rest}
      onPointerCancel=${rest}
    ></div>
  </div>`;
}

// -- what stands below it --

/** @param {{ counts: Shown | null }} props */
function Bar({ counts }) {
  const folded = isFolded.value;
  return html`<div class="timeline-bar">
    <button type="button" class="folds" aria-expanded=${!folded} onClick=${() => (isFolded.value = !folded)}>timeline</button>
    <${Steps} />
    ${!folded && html`<${Jump} /><${Zooming} />`}
    <${Now} counts=${counts} />
    ${!folded && counts && html`<${Table} shown=${counts} />`}
  </div>`;
}

function Zooming() {
  const by = (/** @type {number} */ factor) => () => zoomBy(factor);
  return html`<span class="zooming" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" title="zoom in (+)" onClick=${by(ZOOM_BY)}>+</button>
      <button type="button" aria-label="Zoom out" title="zoom out (-)" onClick=${by(1 / ZOOM_BY)} disabled=${zoom.value === null}>−</button>
      <button type="button" title="show all (0)" onClick=${() => (zoom.value = null)} disabled=${zoom.value === null}>all</button>
    </span>`;
}

/**
 * The moment that is looked at; while the pointer is over the chart, the stretch under it.
 * @param {{ counts: Shown | null }} props
 */
function Now({ counts }) {
  const { data } = shown.value;
  const log = about.value;
  const at = hoveredMs.value;
  if (at !== null && counts !== null && !isFolded.value) return html`<p class="timeline-now"><${Hovered} at=${at} counts=${counts} /></p>`;
  const words = data?.told ? `${data.told.who} ${data.told.sentence}` : null;
  return html`<p class="timeline-now" aria-live="polite" title=${words}>
      ${data?.told
        ? html`<a href=${link("at", data.seq)}>event ${data.seq.toLocaleString("en")}</a>
            <span class="quiet"> of ${log?.last.toLocaleString("en")}</span> · <strong>${data.told.who}</strong> ${data.told.sentence}`
        : data && html`before the first event`}
    </p>`;
}

/** @param {number} factor more than 1: nearer, around the moment that is looked at */
function zoomBy(factor) {
  const log = about.value;
  const told = shown.value.data?.told;
  if (log === null || log.events === 0) return;
  const all = { beginMs: Date.parse(log.firstTime), endMs: Date.parse(log.lastTime) + 1 };
  const { beginMs, endMs } = zoom.value ?? all;
  const seen = told ? told.timeUs / 1000 : endMs;
  const middle = seen >= beginMs && seen <= endMs ? seen : (beginMs + endMs) / 2;
  const half = Math.max((endMs - beginMs) / factor, LEAST_MS) / 2;
  if (2 * half >= all.endMs - all.beginMs) {
    zoom.value = null;
    return;
  }
  const begin = Math.min(Math.max(middle - half, all.beginMs), all.endMs - 2 * half);
  zoom.value = { beginMs: begin, endMs: begin + 2 * half };
}

/** @param {{ shown: Shown }} props */
function Table({ shown: data }) {
  const { beginMs, endMs } = stretchOf(data);
  const stretches = Array.from({ length: TABLE_BINS }, (_, at) => beginMs + (at * (endMs - beginMs)) / TABLE_BINS);
  const lanes = data.lanes.filter((lane) => lane.counts.length > 0);
  const sum = (/** @type {readonly number[]} */ counts, /** @type {number} */ at) =>
    counts
      .slice(Math.round((at * counts.length) / TABLE_BINS), Math.round(((at + 1) * counts.length) / TABLE_BINS))
      .reduce((a, b) => a + b, 0);
  return html`<details class="timeline-table">
    <summary>table</summary>
    <div class="scroll" tabindex="0">
      <table>
        <caption class="quiet">Events from each time on, in stretches of ${lengthText((endMs - beginMs) / TABLE_BINS)}</caption>
        <thead>
          <tr>
            <th scope="col">from</th>
            ${lanes.map(({ lane }) => html`<th key=${lane} scope="col" class="number">${lane}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${stretches.map(
            (from, at) => html`<tr key=${at}>
              <th scope="row">
                <button type="button" class="copy" onClick=${() => moveTo(isoOf(from))}>${day(isoOf(from))} ${clock(isoOf(from))}</button>
              </th>
              ${lanes.map(({ lane, counts }) => html`<td key=${lane} class="number">${sum(counts, at)}</td>`)}
            </tr>`,
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">all</th>
            ${lanes.map(({ lane, total }) => html`<td key=${lane} class="number">${count(total, "event")}</td>`)}
          </tr>
        </tfoot>
      </table>
    </div>
  </details>`;
}

// -- times --

/** @param {number} ms @returns {string} to the microsecond, as the API takes it */
function isoOf(ms) {
  const whole = Math.floor(ms);
  const us = Math.floor((ms - whole) * 1000);
  return new Date(whole).toISOString().replace("Z", `${String(us).padStart(3, "0")}Z`);
}

/** @param {number} ms */
function lengthText(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toPrecision(3))} s`;
  if (ms < 3_600_000) return `${Number((ms / 60_000).toPrecision(3))} min`;
  return `${Number((ms / 3_600_000).toPrecision(3))} h`;
}

// -- keys --

/** Keys that move; they stay what they are where somebody types or scrolls sideways. */
function onKey(/** @type {KeyboardEvent} */ event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, pre, .scroll")) return;
  if (route.value[0] !== "at" && !target.closest(".timeline")) return;
  const act = KEYS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act(event.shiftKey ? STEPS : 1);
}

/** @type {Record<string, (steps: number) => void>} */
const KEYS = {
  ArrowLeft: (steps) => step(-steps),
  ArrowRight: (steps) => step(steps),
  Home: () => moveTo(about.value?.first ?? ""),
  End: () => moveTo(""),
  "+": () => zoomBy(ZOOM_BY),
  "-": () => zoomBy(1 / ZOOM_BY),
  0: () => (zoom.value = null),
};

addEventListener("keydown", onKey);
