/** What a search found: the event, the few events that lead there as a story, and the files of it. */

import { Download } from "../parts/download.js";
import { clock, count, day } from "../parts/format.js";
import { link } from "../router.js";
import { html } from "../vendor/index.js";

/** @typedef {import("../types").SearchShown} Search */
/** @typedef {import("../types").Step} Step */

/** @param {{ search: Search }} props */
export function Found({ search }) {
  return html`
    ${search.found && html`<${First} found=${search.found} expression=${search.expression} />`}
    ${search.story.length > 0 && html`<${Story} search=${search} /><${Files} search=${search} />`}
  `;
}

/** @param {{ found: Step, expression: string }} props */
const First = ({ found, expression }) =>
  html`<h3>First true</h3>
    <p><code>${expression}</code> is first true after <a href=${link("at", found.seq)}>event ${found.seq}</a>, ${day(found.time)} ${clock(found.time)}:</p>
    <p class="step-words"><strong>${found.source}</strong> ${found.words}</p>
    <${Changes} lines=${found.changes} />`;

/** @param {{ search: Search }} props */
function Story({ search }) {
  const isSmallest = search.phase === "done";
  return html`<h3>What leads there</h3>
    <p>
      ${search.story.length.toLocaleString("en")} of ${count(search.given, "event")}${isSmallest ? "; none of them can be left out." : "."}
    </p>
    <ol class="story">
      ${search.story.map((step) => html`<${OneStep} key=${step.seq} step=${step} />`)}
    </ol>`;
}

/** @param {{ step: Step }} props */
const OneStep = ({ step }) =>
  html`<li>
    <p class="step-words">
      <strong>${step.source}</strong> ${step.words}${" "}
      <a href=${link("at", step.origin)} class="quiet">event ${step.origin}, ${clock(step.time)}</a>
    </p>
    <${Changes} lines=${step.changes} />
  </li>`;

/** @param {{ lines: string[] }} props */
const Changes = ({ lines }) =>
  html`<ul class="changes mono">
    ${lines.map((line) => html`<li key=${line}>${line}</li>`)}
  </ul>`;

/** @param {{ search: Search }} props */
const Files = ({ search }) =>
  html`<h3>Take it with you</h3>
    <p>${count(search.story.length, "event")}, and no calls or prompts. In a test, <code>workspaced.replay</code> opens it.</p>
    <p class="buttons"><${Download} path="/api/search/bundle" label="Bundle (found.wsb)" /></p>`;
