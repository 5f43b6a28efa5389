/** Calls: `#/call` lists them, `#/call/567` shows one, `#/call/567/with/590` compares two. */

import { html } from "../vendor/index.js";
import { CallList } from "./calls_list.js";
import { CallPair } from "./calls_pair.js";
import { OneCall } from "./calls_one.js";

/** @param {{ parts: string[] }} props */
export function Calls({ parts }) {
  const [first = "", word, second = ""] = parts;
  if (!/^\d+$/.test(first)) return html`<${CallList} filters=${filtersOf(parts)} />`;
  if (word === "with") return html`<${CallPair} seq=${first} other=${second} />`;
  return html`<${OneCall} seq=${first} />`;
}

/**
 * @typedef {object} Filters
 * @property {string} [caller]
 * @property {string} [tool]
 * @property {boolean} failed
 * @property {number} [before]
 */

/**
 * The filters in a link such as `#/call/by/claude/of/search_workspace/failed/before/1200`.
 * @param {string[]} parts
 * @returns {Filters}
 */
function filtersOf(parts) {
  /** @type {Filters} */
  const found = { failed: false };
  for (let at = 0; at < parts.length; at++) {
    if (parts[at] === "by") found.caller = parts[++at];
    else if (parts[at] === "of") found.tool = parts[++at];
    else if (parts[at] === "failed") found.failed = true;
    else if (parts[at] === "before") found.before = Number(parts[++at]) || undefined;
  }
  return found;
}
