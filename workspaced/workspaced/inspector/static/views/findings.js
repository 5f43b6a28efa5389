/** Findings, the first page: what is worth looking at, newest first, each with its evidence one click away. */

import { Command } from "../parts/copy.js";
import { Differences } from "../parts/differences.js";
import { clock, count, day } from "../parts/format.js";
import { Loaded, useResource } from "../parts/resource.js";
import { Term } from "../parts/term.js";
import { link } from "../router.js";
import { about, logArgument } from "../store.js";
import { html } from "../vendor/index.js";
import { Moment } from "./moment.js";

/** @typedef {import("../types").Findings} Shown */
/** @typedef {import("../types").Finding} Finding */

/** `#/findings`, `#/findings/BEFORE` @param {{ parts: string[] }} props */
export function FindingsView({ parts: [before] }) {
  const found = /** @type {import("../parts/resource.js").Resource<Shown>} */ (
    useResource("/api/findings", { before }, about.value?.last)
  );
  return html`<section aria-labelledby="findings-title">
    <h2 id="findings-title">Findings</h2>
    <p class="quiet">
      <${Term} of="prompt">Prompts</${Term}> that held a note in an older version than it had by then, or did without a note that a${" "}
      <${Term} of="compaction" /> had left out and the user asked about; <${Term} of="call">calls</${Term}> that failed; notes that were${" "}
      <${Term} of="withheld" /> while the user looked at them. The newest stand first.
    </p>
    <${Loaded} of=${found}>${(/** @type {Shown} */ shown) => html`<${List} shown=${shown} />`}</${Loaded}>
  </section>`;
}

/** @param {{ shown: Shown }} props */
function List({ shown }) {
  const last = shown.findings.at(-1);
  const before = shown.leftOut > 0 && last ? last.seq : shown.searchedFrom;
  return html`
    ${shown.findings.length === 0
      ? html`<p class="notice" role="status">
          Nothing was found${shown.searchedFrom === null ? "" : html` since event ${shown.searchedFrom}`}. This is the present moment:
        </p>`
      : html`<ol class="findings">${shown.findings.map((each) => html`<${One} key=${each.sentence + each.seq} finding=${each} />`)}</ol>`}
    ${before !== null && html`<p><a href=${link("findings", before)}>Before event ${before}</a></p>`}
    ${shown.findings.length === 0 ? html`<${Moment} parts=${[]} />` : html`<${Command} line="workspaced calls list --failed ${logArgument.value}" />`}
  `;
}

/** @param {{ finding: Finding }} props */
function One({ finding }) {
  const { since = null, answer, times = 1, difference = [], kind } = finding;
  return html`<li class="finding">
    <h3>
      <bdi>${finding.sentence}</bdi>${since === null ? "" : html` since <time datetime=${since}>${clock(since).slice(0, 5)}</time>`}.
    </h3>
    <p class="quiet">
      <time datetime=${finding.time}>${day(finding.time)} ${clock(finding.time).slice(0, 8)}</time>
      ${times > 1 && html` · ${count(times, kind === "withheldNote" ? "call" : "prompt")}`}
    </p>
    ${answer && html`<p>The model then said: <q>${answer}</q></p>`}
    ${difference.length > 0 && html`<${Differences} lines=${difference} left="what was read" right="what the note said" />`}
    <p>
      ${finding.evidence.map((each, at) => html`${at > 0 && " · "}<a key=${at} href=${link(...each.link)}>${each.title}</a>`)}
    </p>
  </li>`;
}
