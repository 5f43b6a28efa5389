/** Numbers with their units, and times. */

const COUNT = new Intl.NumberFormat("en");
const DATE = new Intl.DateTimeFormat("en-CA", { dateStyle: "short" });

/**
 * @param {number} value
 * @param {string} unit in the singular, such as "event"
 */
export const count = (value, unit) => `${COUNT.format(value)} ${unit}${value === 1 ? "" : "s"}`;

/** @param {number} value */
export const bytes = (value) =>
  value < 1000 ? `${value} B` : value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;

/** @param {number} us microseconds */
export const duration = (us) =>
  us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1e3).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`;

/** @param {number} value */
export const tokens = (value) => count(value, "token");

/**
 * The time of an event, local, to the millisecond.
 * @param {string} time ISO 8601
 */
export function clock(time) {
  const at = new Date(time);
  return `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** @param {string} time ISO 8601 */
export const day = (time) => DATE.format(new Date(time));
