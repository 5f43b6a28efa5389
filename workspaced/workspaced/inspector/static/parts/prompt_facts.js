/** What a provider counted of a prompt, and whether its cache served it. */

import { html } from "../vendor/index.js";
import { count, tokens } from "./format.js";

/** @typedef {import("../types").PromptRow} Row */

/**
 * What the provider counted.
 * @param {{ row: Row }} props
 */
export const Usage = ({ row }) =>
  row.inputTokens === null || row.inputTokens === undefined
    ? html`<span class="quiet">the provider reported no usage</span>`
    : html`<span>read ${tokens(row.inputTokens)}, ${tokens(row.cachedTokens ?? 0)} of them from its cache${row.outputTokens === null || row.outputTokens === undefined ? "" : `, answered ${tokens(row.outputTokens)}`}</span>`;

/**
 * Whether notes stood in it in an older version than they had then.
 * @param {{ row: Row }} props
 */
export const StaleBadge = ({ row: { stale } }) =>
  stale.length > 0 && html`<span class="badge warn" title=${stale.join("\n")}>${count(stale.length, "older note")}</span>`;

/**
 * Whether the provider's cache served what it could, and why not.
 * @param {{ row: Row }} props
 */
export function CacheBadge({ row }) {
  const { outcome, cause } = row;
  if (outcome === "hit") return html`<span class="badge good">cache hit${cause ? `: ${cause}` : ""}</span>`;
  if (outcome === "miss") return html`<span class="badge warn">${cause === "first prompt" ? "" : "cache missed: "}${cause}</span>`;
  return html`<span class="badge">${cause && cause !== "not reported" ? cause : "cache: not reported"}</span>`;
}
