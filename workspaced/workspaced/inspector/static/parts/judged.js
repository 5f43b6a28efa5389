/** What the user said of an answer, and the command that says it. */

import { link } from "../router.js";
import { about, logArgument, version } from "../store.js";
import { html } from "../vendor/index.js";
import { Command } from "./copy.js";
import { useResource } from "./resource.js";

/** @typedef {import("../types").Judged} Judged */

/** @param {{ seq: number }} props of a prompt or a call */
export function JudgedAnswer({ seq }) {
  const { data } = /** @type {import("./resource.js").Resource<Judged>} */ (
    useResource(`/api/judged/${seq}`, {}, version.value)
  );
  const log = about.value;
  const bundle = log?.kind === "bundle" ? ` ${logArgument.value}` : "";
  return html`<details class="judged">
    <summary>
      ${data?.event
        ? html`Judged <span class=${`badge ${data.verdict === "right" ? "good" : "bad"}`}>${data.verdict}</span>${data.wanted && html`, wanted: <q>${data.wanted}</q>`}`
        : "Was the answer right?"}
    </summary>
    ${data?.event && html`<p>By <a href=${link("at", data.event)}>event ${data.event}</a>. ${data.why}</p>`}
    ${(log?.kind === "daemon" || bundle) && html`<${Command} line=${`workspaced judge ${seq} wrong${bundle} --wanted 'what a right answer says'`} />`}
    <p class="quiet">Tests are made of what is judged: <code>workspaced eval export</code></p>
  </details>`;
}
