/** Stable links: `#/at/1234`, `#/call/567`, `#/prompt/890/layer/L2`; the first part names the view. */

import { signal } from "./vendor/index.js";

/** The parts of the present link, decoded; never empty. */
export const route = signal(read());

function read() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  return parts.length ? parts.map(decode) : ["findings"];
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Shows what the address names, from now on. */
export function follow() {
  route.value = read();
  addEventListener("hashchange", () => (route.value = read()));
}

/**
 * @param {...(string | number)} parts
 * @returns {string} the address of a link
 */
export const link = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

/** @param {...(string | number)} parts */
export const go = (...parts) => {
  location.hash = link(...parts);
};

/**
 * As `go`, in place of the present link: "back" leads to the one before it.
 * @param {...(string | number)} parts
 */
export const replace = (...parts) => {
  history.replaceState(null, "", link(...parts));
  route.value = read();
};
