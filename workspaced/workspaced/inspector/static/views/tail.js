/** The newest events, as they come: all, or those of one editor, agent, note or type. */

import { get } from "../api.js";
import { Command } from "../parts/copy.js";
import { EventTable } from "../parts/event_table.js";
import { count } from "../parts/format.js";
import { Failure } from "../parts/resource.js";
import { about, logArgument, quoted, version } from "../store.js";
import { html, useEffect, useMemo, useState } from "../vendor/index.js";

/** @typedef {import("../types").EventTold} EventTold */
/** @typedef {import("../types").Newest} Newest */
/** @typedef {{ source: string, agent: string, note: string, type: string }} Filter */

const PAGE = 100;
const PAGE_EARLIER = 500;
const KEPT_MAX = 20_000;
// In memory; only the rows in sight are drawn.
/** @typedef {{ events: readonly EventTold[], searchedFrom: number | null, isRead: boolean }} Shown */
const NONE = /** @type {Shown} */ ({ events: [], searchedFrom: null, isRead: false });
const ALL = { source: "", agent: "", note: "", type: "" };
/** @type {[keyof Filter, string][]} */
const FIELDS = [
  ["source", "Editor or program"],
  ["agent", "Agent"],
  ["note", "Note"],
  ["type", "Type of event"],
];

export function LiveTail() {
  const [filter, setFilter] = useState(/** @type {Filter} */ (ALL));
  const [pausedAt, setPausedAt] = useState(/** @type {number | null} */ (null));
  const tail = useTail(filter, pausedAt !== null);
  const last = about.value?.last ?? 0;
  const waiting = pausedAt === null ? 0 : last - pausedAt;
  const isLive = about.value?.kind === "daemon";
  return html`<section aria-labelledby="tail-title">
    <h2 id="tail-title">${isLive ? "Live tail" : "Newest events"}</h2>
    <${Filters} filter=${filter} onFilter=${setFilter} events=${tail.events} />
    ${isLive &&
    html`<p>
      <button type="button" aria-pressed=${pausedAt !== null} onClick=${() => setPausedAt(pausedAt === null ? last : null)}>
        ${pausedAt === null ? "Pause" : "Go on"}
      </button>
      <span class="quiet" role="status">
        ${pausedAt === null ? "" : ` ${count(waiting, "event")} came since the pause of this list`}
      </span>
    </p>`}
    ${tail.error && html`<${Failure} error=${tail.error} />`}
    ${tail.events.length
      ? html`<${EventTable} events=${tail.events} label="Newest events" />`
      : tail.isRead && html`<${Nothing} filter=${filter} />`}
    <p>
      ${tail.searchedFrom !== null &&
      html`<button type="button" onClick=${tail.earlier}>Look before event ${tail.searchedFrom}</button>`}
      ${tail.isRead && tail.searchedFrom === null && html`<span class="quiet">This is the log's beginning.</span>`}
    </p>
    <${Command} line=${commandLine(filter)} />
  </section>`;
}

/**
 * The events that fit, newest first.
 * @param {Filter} filter
 * @param {boolean} isPaused
 */
function useTail(filter, isPaused) {
  const [shown, setShown] = useState(NONE);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const asked = JSON.stringify(filter);
  const parameters = useMemo(() => Object.fromEntries(Object.entries(filter).filter(([, value]) => value)), [asked]);

  useEffect(() => setShown(NONE), [asked]);
  useEffect(() => {
    if (isPaused) return undefined;
    const aborting = new AbortController();
    get("/api/newest", { ...parameters, limit: PAGE }, aborting.signal).then(
      (/** @type {Newest} */ newest) => {
        setShown((former) => joined(newest, former));
        setError(null);
      },
      (failure) => aborting.signal.aborted || setError(failure),
    );
    return () => aborting.abort();
  }, [asked, isPaused, version.value]);

  const earlier = () =>
    get("/api/newest", { ...parameters, limit: PAGE_EARLIER, before: shown.searchedFrom ?? undefined }).then(
      (/** @type {Newest} */ older) =>
        setShown((former) => ({ ...former, events: [...former.events, ...older.events], searchedFrom: older.searchedFrom })),
      setError,
    );
  return { ...shown, error, earlier };
}

/**
 * The newest events before those that were there; only the newest if events between them may be missing. Too many
 * of them are kept no longer: the oldest can be looked for again.
 * @param {Newest} newest
 * @param {Shown} former
 * @returns {Shown}
 */
function joined({ events: newest, searchedFrom }, former) {
  const oldest = newest.at(-1)?.seq ?? 0;
  const touches = newest.length < PAGE || (former.events[0]?.seq ?? 0) >= oldest;
  if (!touches || !former.isRead) return { events: newest, searchedFrom, isRead: true };
  const events = [...newest, ...former.events.filter(({ seq }) => seq < oldest)];
  if (events.length <= KEPT_MAX) return { ...former, events };
  const kept = events.slice(0, KEPT_MAX);
  return { events: kept, searchedFrom: kept.at(-1)?.seq ?? null, isRead: true };
}

/** @param {{ filter: Filter, onFilter: (filter: Filter) => void, events: readonly EventTold[] }} props */
function Filters({ filter, onFilter, events }) {
  const known = {
    source: distinct(events.map((each) => each.source)),
    agent: distinct(events.map((each) => each.agent)),
    note: distinct(events.flatMap((each) => each.notes)),
    type: distinct(events.map((each) => each.type)),
  };
  const set = (/** @type {keyof Filter} */ field) => (/** @type {Event} */ { target }) =>
    onFilter({ ...filter, [field]: /** @type {HTMLInputElement} */ (target).value.trim() });
  return html`<form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${FIELDS.map(
      ([field, label]) =>
        html`<label key=${field}>
          ${label}
          <input type="search" list=${`known-${field}`} value=${filter[field]} placeholder="all" onChange=${set(field)} />
          <datalist id=${`known-${field}`}>${known[field].map((value) => html`<option key=${value} value=${value} />`)}</datalist>
        </label>`,
    )}
    <button type="button" disabled=${Object.values(filter).every((value) => !value)} onClick=${() => onFilter(ALL)}>
      Show all
    </button>
  </form>`;
}

/** @param {{ filter: Filter }} props */
const Nothing = ({ filter }) =>
  Object.values(filter).some(Boolean)
    ? html`<p class="notice">No event that was looked at fits. Look further back, or show all.</p>`
    : html`<p class="notice">
        This log holds no events yet. They come when an editor shows a note, or an agent asks:
        ${" "}<code>workspaced doctor</code> says what is connected.
      </p>`;

/** @param {(string | null)[]} values */
const distinct = (values) => /** @type {string[]} */ ([...new Set(values)].filter(Boolean).sort());

/**
 * The command line that prints the same.
 * @param {Filter} filter
 */
function commandLine({ source, agent, note, type }) {
  const tests = [
    source && `.source == ${JSON.stringify(source)}`,
    agent && `(.data.caller // .data.client) == ${JSON.stringify(agent)}`,
    note && `([.data | .note, .from, .to, .path, .notes[]?] | index(${JSON.stringify(note)}))`,
  ].filter(Boolean);
  const log = about.value;
  if (log?.kind === "daemon") {
    const watch = `workspaced watch --socket ${quoted(log.socket)}${type ? ` --type ${type}` : ""}`;
    return tests.length ? `${watch} --json | jq -c ${quoted(`select(${tests.join(" and ")})`)}` : watch;
  }
  if (type) tests.push(`.type == ${JSON.stringify(type)}`);
  const replay = `workspaced replay ${logArgument.value} --watch`;
  return tests.length ? `${replay} --json | jq -c ${quoted(`.event | select(${tests.join(" and ")})`)}` : replay;
}
