/** Sums of money, and where their prices come from. */

import { html } from "../vendor/index.js";

/**
 * @typedef {import("../types").Cost} Cost
 * @typedef {import("../types").Prices} Prices
 */

const DIGITS = 4;

/**
 * @param {number} amount
 * @param {string} currency
 */
export const money = (amount, currency) =>
  amount === 0 || amount >= 10 ** -DIGITS ? `${amount.toFixed(DIGITS)} ${currency}` : `under ${10 ** -DIGITS} ${currency}`;

/**
 * A sum that says whether it is an estimate.
 * @param {{ cost: Cost | null | undefined, prices: Prices }} props
 */
export function Money({ cost, prices }) {
  if (!cost) return html`<span class="quiet" title="The model is not in the list of prices.">no price</span>`;
  if (cost.basis === "reported") return html`<span>${money(cost.amount, prices.currency)}</span>`;
  const why =
    cost.basis === "estimated"
      ? "The provider reported no usage: estimated tokens, nothing cached, without the answer."
      : "Of some prompts the provider reported no usage; those are estimates.";
  return html`<span title=${why}>~${money(cost.amount, prices.currency)}<span class="quiet"> estimated</span></span>`;
}

/**
 * What the same would have cost without a cache, if one served anything.
 * @param {{ cost: Cost | null | undefined, uncached: Cost | null | undefined, prices: Prices }} props
 */
export const Uncached = ({ cost, uncached, prices }) =>
  cost && uncached && uncached.amount > cost.amount
    ? html`<span class="quiet">without the cache ${money(uncached.amount, prices.currency)}</span>`
    : null;

/** @param {{ prices: Prices }} props */
export const PricesNote = ({ prices }) =>
  html`<p class="quiet">
      Money: prices of ${prices.source}${prices.isOwn ? "" : ", as they were on each prompt's day, as far as it knows"}; writing into a
      provider's cache is not counted. A list of your own goes to <code>${prices.file}</code>.
    </p>
    ${prices.problem ? html`<p class="warning" role="status">${prices.problem}</p>` : null}`;
