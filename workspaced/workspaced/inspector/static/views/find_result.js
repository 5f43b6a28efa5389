/** What a search found: the event, the few events that lead there as a story, and the files of it. */

import { Command } from "../parts/copy.js";
import { Download } from "../parts/download.js";
import { clock, count, day } from "../parts/format.js";
import { link } from "../router.js";
import { about, logArgument } from "../store.js";
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
    <div class="columns">
      <article class="card" aria-labelledby="few-title">
        <h4 id="few-title">The few events</h4>
        <p>
          ${count(search.story.length, "event")}, and no calls or prompts. In a test, <code>workspaced.replay</code> opens it.
        </p>
        <p class="buttons">
          <${Download} path="/api/search/bundle" label="Bundle (found.wsb)" />
        </p>
      </article>
      <${WithCalls} search=${search} />
    </div>`;

/** What agents saw while it was true; it replays elsewhere. @param {{ search: Search }} props */
function WithCalls({ search: { found, seen } }) {
  if (found === null || seen === null) {
    return html`<article class="card"><h4>What agents saw</h4><p>No call and no prompt was made while it stayed true, in the 1,000 events after it.</p></article>`;
  }
  const made = [count(seen.calls, "call"), count(seen.prompts, "prompt")].filter((each) => !each.startsWith("0 ")).join(" and ");
  return html`<article class="card" aria-labelledby="calls-title">
    <h4 id="calls-title">What agents saw</h4>
    <p>
      The log as it was, from event <a href=${link("at", found.seq)}>${found.seq}</a> to <a href=${link("at", seen.last)}>${seen.last}</a>, with
      ${" "}${made} made while it stayed true. Elsewhere they replay to the same bytes.
    </p>
    ${about.value?.kind === "directory" || about.value?.kind === "daemon"
      ? html`<${Command} line=${`workspaced bundle --data-dir ${logArgument.value} --from ${found.seq} --to ${seen.last} -o found-with-calls.wsb`} />`
      : null}
  </article>`;
}
