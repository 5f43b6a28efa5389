/** Two calls side by side: what differed in what was asked, in the state, in what they read, in the answers. */

import { Command } from "../parts/copy.js";
import { Differences } from "../parts/differences.js";
import { count } from "../parts/format.js";
import { Loaded, useResource } from "../parts/resource.js";
import { link } from "../router.js";
import { logArgument } from "../store.js";
import { html } from "../vendor/index.js";

/** @typedef {import("../types").Pair} Pair */

/** @param {{ seq: string, other: string }} props */
export function CallPair({ seq, other }) {
  const pair = /** @type {import("../parts/resource.js").Resource<Pair>} */ (
    useResource(`/api/calls/${seq}/with/${encodeURIComponent(other)}`)
  );
  return html`<article aria-labelledby="pair-title">
    <p><a href=${link("call")}>All calls</a></p>
    <h2 id="pair-title">
      Call <a href=${link("call", seq)}>${seq}</a> and call <a href=${link("call", other)}>${other}</a>
    </h2>
    <${Loaded} of=${pair}>${(/** @type {Pair} */ shown) => html`<${Shown} pair=${shown} seq=${seq} other=${other} />`}</${Loaded}>
    <${Command} line=${`workspaced calls diff ${seq} ${other} ${logArgument.value}`} />
  </article>`;
}

/** @param {{ pair: Pair, seq: string, other: string }} props */
function Shown({ pair, seq, other }) {
  if (pair.same) return html`<p class="notice">Nothing differs: the same was asked, read and answered.</p>`;
  return html`
    <p class="quiet">From call ${seq} to call ${other}:</p>
    <${Lines} title="What was asked" lines=${pair.call} />
    <${Lines} title="The state that they saw" lines=${pair.state} />
    <${Lines} title="What they read" lines=${pair.inputs} />
    <h3>The answers</h3>
    ${pair.answer.length === 0
      ? html`<p>The same, byte for byte.</p>`
      : html`<${Differences} lines=${pair.answer} left="call ${seq}" right="call ${other}" />`}
    ${pair.linesLeftOut > 0 && html`<p class="notice">${count(pair.linesLeftOut, "line")} more; the command line gives all.</p>`}
  `;
}

/** @param {{ title: string, lines: string[] }} props */
const Lines = ({ title, lines }) =>
  html`<h3>${title}</h3>
    ${lines.length === 0
      ? html`<p>The same.</p>`
      : html`<ul class="mono">${lines.map((line, at) => html`<li key=${at}>${line}</li>`)}</ul>`}`;
