/** What the user says of an answer: shown, and said where the page may change something. */

import { post } from "../api.js";
import { link } from "../router.js";
import { about, logArgument, version } from "../store.js";
import { html, useState } from "../vendor/index.js";
import { Command } from "./copy.js";
import { Failure, useResource } from "./resource.js";

/** @typedef {import("../types").Judged} Judged */

/** @param {{ seq: number }} props of a prompt or a call */
export function JudgedAnswer({ seq }) {
  const [again, setAgain] = useState(0);
  const { data } = /** @type {import("./resource.js").Resource<Judged>} */ (
    useResource(`/api/judged/${seq}`, {}, `${version.value} ${again}`)
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
    ${log?.mayChange && log.kind === "daemon" && html`<${Form} key=${seq} seq=${seq} onJudged=${() => setAgain(again + 1)} />`}
    ${(log?.kind === "daemon" || bundle) && html`<${Command} line=${`workspaced judge ${seq} wrong${bundle} --wanted 'what a right answer says'`} />`}
    <p class="quiet">Tests are made of what is judged: <code>workspaced eval export</code></p>
  </details>`;
}

/** @param {{ seq: number, onJudged: () => void }} props */
function Form({ seq, onJudged }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const say = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const said = { verdict: /** @type {HTMLButtonElement} */ (event.submitter).value, wanted: fields.get("wanted"), why: fields.get("why") };
    post(`/api/judged/${seq}`, said).then(() => {
      setError(null);
      onJudged();
    }, setError);
  };
  return html`<form class="more" onSubmit=${say}>
      <label>A right answer says <input name="wanted" /></label>
      <label>Why <input name="why" /></label>
      <button value="wrong">It was wrong</button>
      <button value="right">It was right</button>
    </form>
    ${error && html`<${Failure} error=${error} />`}`;
}
