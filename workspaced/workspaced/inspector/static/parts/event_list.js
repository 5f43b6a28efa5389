/** A list of events of any length: only the rows in sight are drawn, and pages are loaded as they come into sight. */

import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../vendor/index.js";
import { useEventPages } from "./event_pages.js";
import { clock, day } from "./format.js";
import { Failure } from "./resource.js";

/** @typedef {import("../types").EventRow} Row */
/** @typedef {import("./event_pages.js").EventFilter} EventFilter */

const ROW_PX = 46;
// As .event-row in styles/events.css.
const BEYOND_ROWS = 10;
const NEAR_END_ROWS = 30;
const REST_MS = 120;

const LANES = ["navigation", "files", "calls", "prompts", "volunteered", "sharing", "log"];

/**
 * @param {object} props
 * @param {EventFilter} [props.filter]
 * @param {number} props.present the sequence that is looked at: its row is marked, and kept in sight
 * @param {number} props.last the log's last sequence
 * @param {(seq: number) => void} props.onPick a row was chosen
 * @param {string} [props.label] what the list is of
 */
export function EventList({ filter = {}, present, last, onPick, label = "Events" }) {
  const anchor = useRested(present);
  const pages = useEventPages(filter, anchor, last);
  const { rows, previous, next, isLoading } = pages;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const top = useSignal(0);
  const height = useSignal(600);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => entry && (height.value = entry.contentRect.height));
    watching.observe(/** @type {HTMLElement} */ (box.current));
    return () => watching.disconnect();
  }, []);

  const marked = lastUpTo(rows, present);
  const held = useRef({ rows, generation: -1, present: -1 });
  useLayoutEffect(() => {
    const list = box.current;
    const first = rows[0];
    if (list === null || first === undefined) return;
    const { rows: former, generation, present: before } = held.current;
    const isNew = generation !== pages.generation;
    // Rows that came or went in front must not move those in sight.
    if (!isNew) list.scrollTop += ROW_PX * shift(former, rows);
    const isLoaded = (previous === null || present >= first.seq) && (next === null || present < next);
    if (isLoaded && (isNew || present !== before) && marked >= 0) intoSight(list, marked);
    held.current = { rows, generation: pages.generation, present: isLoaded ? present : -1 };
    top.value = list.scrollTop;
  }, [rows, present]);

  const begin = Math.max(0, Math.floor(top.value / ROW_PX) - BEYOND_ROWS);
  const end = Math.min(rows.length, Math.ceil((top.value + height.value) / ROW_PX) + BEYOND_ROWS);
  useEffect(() => {
    if (isLoading || pages.error) return;
    if (next !== null && end > rows.length - NEAR_END_ROWS) pages.more("next");
    else if (previous !== null && begin < NEAR_END_ROWS) pages.more("previous");
  }, [begin, end, rows, isLoading]);

  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    // Between two rows of a filtered list, "up" is the one before, which is marked.
    const isBetween = marked >= 0 && rows[marked]?.seq !== present;
    const row = rows[marked + (by === -1 && isBetween ? 0 : by)];
    if (row) onPick(row.seq);
  };
  return html`<div class="events">
    <div
      ref=${box}
      class="event-rows"
      role="listbox"
      tabindex="0"
      aria-label=${label}
      aria-busy=${isLoading}
      aria-activedescendant=${marked >= 0 ? `event-${rows[marked]?.seq}` : null}
      onScroll=${() => (top.value = box.current?.scrollTop ?? 0)}
      onKeyDown=${onKey}
    >
      <div class="event-height" role="presentation" style=${{ height: `${rows.length * ROW_PX}px` }}>
        ${rows.slice(begin, end).map((row, at) =>
          html`<${EventLine} key=${row.seq} row=${row} top=${(begin + at) * ROW_PX} isPresent=${row.seq === present}
            isLatest=${begin + at === marked} onPick=${onPick} />`)}
      </div>
    </div>
    ${pages.error && html`<${Failure} error=${pages.error} />`}
    <p class="quiet event-end">${ending(pages)}</p>
  </div>`;
}

/** @param {{ row: Row, top: number, isPresent: boolean, isLatest: boolean, onPick: (seq: number) => void }} props */
function EventLine({ row, top, isPresent, isLatest, onPick }) {
  const marks = `${isPresent ? "present" : isLatest ? "latest" : ""} ${row.isFailed ? "failed" : ""}`;
  return html`<div
    id=${`event-${row.seq}`}
    class=${`event-row lane-${row.lane} ${marks}`}
    role="option"
    aria-selected=${isPresent}
    style=${{ top: `${top}px` }}
    title=${`${row.type} by ${row.source}, ${day(row.time)} ${clock(row.time)}`}
    onClick=${() => onPick(row.seq)}
  >
    <span class="event-head">
      <span class="event-seq">${row.seq}</span> <time>${clock(row.time)}</time>
      <span class="event-lane">${row.isFailed ? "✕ " : ""}${row.lane}</span>
    </span>
    <span class="event-words"><strong>${row.who}</strong> ${row.sentence}</span>
  </div>`;
}

/** @param {import("./event_pages.js").Pages} pages */
function ending({ rows, previous, next, isLoading }) {
  if (isLoading && rows.length === 0) return "Reading the log.";
  if (isLoading) return `Events ${rows[0]?.seq} to ${rows.at(-1)?.seq}; reading on.`;
  if (rows.length === 0) return "No event passes the filter.";
  const whole = previous === null && next === null;
  return whole ? `All ${rows.length} that pass.` : `Events ${rows[0]?.seq} to ${rows.at(-1)?.seq}; scroll for more.`;
}

/**
 * Chooses lanes, a note and a source.
 * @param {{ filter: EventFilter, onChange: (filter: EventFilter) => void }} props
 */
export function EventFilters({ filter, onChange }) {
  const chosen = new Set((filter.lanes ?? "").split(",").filter(Boolean));
  const toggle = (/** @type {string} */ lane) => {
    if (!chosen.delete(lane)) chosen.add(lane);
    onChange({ ...filter, lanes: LANES.filter((each) => chosen.has(each)).join(",") || undefined });
  };
  const text = (/** @type {"note" | "source"} */ name) => (/** @type {Event} */ event) =>
    onChange({ ...filter, [name]: /** @type {HTMLInputElement} */ (event.target).value || undefined });
  return html`<div class="event-filters" role="group" aria-label="Filter of the events">
    <div class="event-lanes">
      ${LANES.map(
        (lane) =>
          html`<button key=${lane} type="button" class=${`lane-${lane}`} aria-pressed=${chosen.has(lane)} onClick=${() => toggle(lane)}>${lane}</button>`,
      )}
    </div>
    <label>note <input type="search" value=${filter.note ?? ""} placeholder="part of a path" onInput=${text("note")} /></label>
    <label>by <input type="search" value=${filter.source ?? ""} placeholder="editor or agent" onInput=${text("source")} /></label>
  </div>`;
}

/** The present, once it rests: while it is dragged along, the list need not follow every step. */
function useRested(/** @type {number} */ present) {
  const rested = useSignal(present);
  useEffect(() => {
    const timer = setTimeout(() => (rested.value = present), REST_MS);
    return () => clearTimeout(timer);
  }, [present]);
  return rested.value;
}

/** @param {readonly Row[]} rows @param {number} seq @returns {number} the index of the last row up to `seq`; -1: none */
function lastUpTo(rows, seq) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {Row} */ (rows[middle]).seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * How many rows further down a row stands among `rows` than it stood among `former`.
 * @param {readonly Row[]} former
 * @param {readonly Row[]} rows
 */
function shift(former, rows) {
  const [first] = rows;
  const [formerFirst] = former;
  if (first === undefined || formerFirst === undefined || first.seq === formerFirst.seq) return 0;
  if (first.seq < formerFirst.seq) return rows.findIndex((row) => row.seq === formerFirst.seq);
  return -former.findIndex((row) => row.seq === first.seq);
}

/** @param {HTMLElement} list @param {number} index */
function intoSight(list, index) {
  const top = index * ROW_PX;
  const isInSight = top >= list.scrollTop && top + ROW_PX <= list.scrollTop + list.clientHeight;
  if (!isInSight) list.scrollTop = Math.max(0, top - list.clientHeight / 2 + ROW_PX / 2);
}
