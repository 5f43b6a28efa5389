/** Events around one of them, loaded page by page in both directions as somebody scrolls. */

import { get } from "../api.js";
import { useEffect, useRef, useState } from "../vendor/index.js";

const PAGE_EVENTS = 100;
const KEPT_EVENTS = 3000;
// Beyond that the rows at the other end are let go.

/** @typedef {import("../types").EventRow} Row */
/** @typedef {import("../types").Events} Page */
/** @typedef {{ lanes?: string, note?: string, source?: string }} EventFilter `lanes`: names with commas between */

/**
 * @typedef {object} Pages
 * @property {readonly Row[]} rows
 * @property {number | null} previous the sequence before which more may be; null: the log begins here
 * @property {number | null} next
 * @property {number} generation changes when the rows are others, not only more
 * @property {boolean} isLoading
 * @property {Error} [error]
 */

/** @type {Pages} */
const NOTHING = { rows: [], previous: null, next: null, generation: 0, isLoading: true };

/**
 * @param {EventFilter} filter
 * @param {number} anchor the sequence around which events are loaded; those that are loaded stay if it is among them
 * @param {number} last the log's last sequence
 * @returns {Pages & { more: (direction: "previous" | "next") => void }}
 */
export function useEventPages(filter, anchor, last) {
  const [pages, set] = useState(NOTHING);
  const latest = useRef(pages);
  // Of the load that was asked for last; rows of an older one are on their way out.
  const generation = useRef(1);
  const key = JSON.stringify(filter);
  const loadedKey = useRef("");
  latest.current = pages;

  const put = (/** @type {Pages} */ next) => set((latest.current = next));
  const ask = (/** @type {Record<string, number>} */ place) =>
    /** @type {Promise<Page>} */ (get("/api/events", { ...filled(filter), ...place, limit: PAGE_EVENTS }));

  useEffect(() => {
    const { rows, previous, next } = latest.current;
    const isHeld =
      loadedKey.current === key &&
      latest.current.generation === generation.current &&
      (previous === null || anchor >= (rows[0]?.seq ?? previous)) &&
      (next === null || anchor < next);
    if (isHeld) return;
    loadedKey.current = key;
    const mine = ++generation.current;
    put({ ...latest.current, isLoading: true });
    Promise.all([ask({ before: anchor + 1 }), ask({ from: anchor + 1 })]).then(
      ([front, back]) =>
        mine === generation.current &&
        put({
          rows: [...front.events, ...back.events],
          previous: front.previous,
          next: back.next,
          generation: mine,
          isLoading: false,
        }),
      (error) => mine === generation.current && put({ ...NOTHING, isLoading: false, error }),
    );
  }, [key, anchor]);

  // A log that grew goes on behind what was its end.
  useEffect(() => {
    const { rows, next, isLoading } = latest.current;
    const end = rows.at(-1)?.seq ?? 0;
    if (!isLoading && next === null && end > 0 && last > end && filter.lanes === undefined) {
      put({ ...latest.current, next: end + 1 });
    }
  }, [last]);

  const more = async (/** @type {"previous" | "next"} */ direction) => {
    const from = latest.current[direction];
    if (from === null || latest.current.isLoading) return;
    const mine = generation.current;
    put({ ...latest.current, isLoading: true });
    try {
      const page = await ask(direction === "next" ? { from } : { before: from });
      if (mine === generation.current) put(direction === "next" ? behind(latest.current, page) : before(latest.current, page));
    } catch (error) {
      if (mine === generation.current) put({ ...latest.current, isLoading: false, error: /** @type {Error} */ (error) });
    }
  };
  return { ...pages, more };
}

/** @param {EventFilter} filter @returns {Record<string, string>} */
const filled = (filter) => Object.fromEntries(Object.entries(filter).filter(([, value]) => value));

/** @param {Pages} pages @param {Page} page @returns {Pages} */
function behind(pages, page) {
  const rows = [...pages.rows, ...page.events];
  const kept = rows.slice(-KEPT_EVENTS);
  const previous = kept.length < rows.length ? /** @type {Row} */ (kept[0]).seq : pages.previous;
  return { ...pages, rows: kept, previous, next: page.next, isLoading: false };
}

/** @param {Pages} pages @param {Page} page @returns {Pages} */
function before(pages, page) {
  const rows = [...page.events, ...pages.rows];
  const kept = rows.slice(0, KEPT_EVENTS);
  const next = kept.length < rows.length ? /** @type {Row} */ (kept.at(-1)).seq + 1 : pages.next;
  return { ...pages, rows: kept, previous: page.previous, next, isLoading: false };
}
