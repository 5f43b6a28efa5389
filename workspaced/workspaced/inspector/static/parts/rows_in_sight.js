/** Which rows of a long list are in sight: only those are drawn. All rows have the same height. */

import { useEffect, useLayoutEffect, useRef, useSignal } from "../vendor/index.js";

const BEYOND_ROWS = 10;
const ROW_PX = 36;
// Until a row was measured.

/**
 * @param {readonly { seq: number }[]} rows newest first
 * @returns {{ box: { current: HTMLDivElement | null }, begin: number, end: number, rowPx: number, onScroll: () => void }}
 *   `box` scrolls; rows from `begin` to before `end` are to be drawn, elements that match `[data-row]`
 */
export function useRowsInSight(rows) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const top = useSignal(0);
  const height = useSignal(600);
  const rowPx = useSignal(ROW_PX);
  const first = useRef(0);
  useEffect(() => {
    const list = /** @type {HTMLDivElement} */ (box.current);
    const watching = new ResizeObserver(() => {
      height.value = list.clientHeight;
      rowPx.value = list.querySelector("[data-row]")?.getBoundingClientRect().height || rowPx.value;
    });
    watching.observe(list);
    return () => watching.disconnect();
  }, []);
  useLayoutEffect(() => {
    const list = box.current;
    if (list === null) return;
    rowPx.value = list.querySelector("[data-row]")?.getBoundingClientRect().height || rowPx.value;
    // Rows that come in front must not move those that somebody reads.
    const came = rows.findIndex(({ seq }) => seq <= first.current);
    if (list.scrollTop > 0 && came > 0) list.scrollTop += came * rowPx.value;
    first.current = rows[0]?.seq ?? 0;
    top.value = list.scrollTop;
  }, [rows]);
  return {
    box,
    begin: Math.max(0, Math.floor(top.value / rowPx.value) - BEYOND_ROWS),
    end: Math.min(rows.length, Math.ceil((top.value + height.value) / rowPx.value) + BEYOND_ROWS),
    rowPx: rowPx.value,
    onScroll: () => (top.value = box.current?.scrollTop ?? 0),
  };
}
