/** One call: what was asked, the bytes that were answered, what it read, and whether it replays. */

import { Command, Copy } from "../parts/copy.js";
import { Differences } from "../parts/differences.js";
import { Download } from "../parts/download.js";
import { bytes, clock, count, day, duration, tokens } from "../parts/format.js";
import { Json } from "../parts/json.js";
import { JudgedAnswer } from "../parts/judged.js";
import { Failure, Loaded, useResource } from "../parts/resource.js";
import { go, link } from "../router.js";
import { about, logArgument, quoted } from "../store.js";
import { html, useState } from "../vendor/index.js";
import { Outcome } from "./calls_list.js";

/** @typedef {import("../types").Call} Call */
/** @typedef {import("../types").Asked} Asked */
/** @typedef {import("../types").Badge} Badge */
/** @typedef {import("../types").Exchanged} Exchanged */
/** @typedef {import("../types").NoteRead} NoteRead */
/** @typedef {import("../types").Told} Told */
/** @typedef {import("../types").Calls} Calls */

/** @template T @typedef {import("../parts/resource.js").Resource<T>} Resource */

/** @param {{ seq: string }} props */
export function OneCall({ seq }) {
  const call = /** @type {Resource<Call>} */ (useResource(`/api/calls/${seq}`));
  return html`<article aria-labelledby="call-title">
    <p><a href=${link("call")}>All calls</a></p>
    <${Loaded} of=${call}>${(/** @type {Call} */ shown) => html`<${Shown} key=${shown.seq} call=${shown} />`}</${Loaded}>
  </article>`;
}

/** @param {{ call: Call }} props */
function Shown({ call }) {
  const badge = /** @type {Resource<Badge>} */ (useResource(`/api/calls/${call.seq}/badge`));
  return html`
    <h2 id="call-title">${call.told ? "Told without asking" : call.tool}, event ${call.seq}</h2>
    <p class="badges">
      <${Outcome} ok=${call.ok} code=${call.code} />
      <${Replays} seq=${call.seq} badge=${badge} />
      <${Whole} call=${call} />
      ${call.level && call.level !== "all" && html`<span class="badge warn">shared: ${call.level}</span>`}
      ${call.withheld > 0 && html`<span class="badge warn">${count(call.withheld, "note")} withheld</span>`}
    </p>
    <${Facts} call=${call} />
    <${JudgedAnswer} seq=${call.seq} />
    ${call.why && html`<p class="warning" role="status">Not all of it is kept. ${call.why} ${call.keepLonger}</p>`}
    <${Difference} badge=${badge.data} />
    <${Texts} call=${call} />
    <${Command} line=${`workspaced calls show ${call.seq} ${logArgument.value}`} />
    <${Command} line=${`workspaced calls show ${call.seq} ${logArgument.value} --result`} />
    <${BundleOf} seq=${call.seq} />
  `;
}

/** How to pass the call on, with all that its replay needs. @param {{ seq: number }} props */
function BundleOf({ seq }) {
  const log = about.value;
  if (log?.kind !== "daemon" && log?.kind !== "directory") return null;
  const from = log.kind === "daemon" ? `--socket ${quoted(log.socket)}` : `--data-dir ${logArgument.value}`;
  return html`<p class="quiet">To pass it on, as a file that replays anywhere (it holds the texts that were shown):</p>
    <${Command} line=${`workspaced bundle -o call-${seq}.wsb --to ${seq} ${from}`} />`;
}

/** @param {{ call: Call }} props */
function Texts({ call }) {
  return html`
    ${call.told ? html`<${ToldText} told=${call.told} />` : null}
    <h3>Arguments</h3>
    ${call.arguments === null
      ? html`<p>They were long, and are not kept.</p>`
      : html`<${Json} value=${call.arguments} label="arguments" open=${call.told === null} />`}
    <${Answer} call=${call} />
    <${Reads} call=${call} />
    <h3>Compare</h3>
    <${CompareWith} call=${call} />
  `;
}

/** Whether the answer holds all of each text that it shows. @param {{ call: Call }} props */
function Whole({ call }) {
  if (!call.ok || call.answer === null || call.answer.length < call.answerChars) return null;
  const cut = cutsIn(JSON.parse(call.answer));
  if (cut.length === 0) return html`<span class="badge good">no text is cut</span>`;
  const [{ returnedLength, originalLength }] = /** @type {[Cut]} */ (cut);
  const size = `${returnedLength} of ${count(originalLength, "character")}`;
  return html`<span class="badge warn">${cut.length === 1 ? `cut: ${size}` : `${count(cut.length, "text")} are cut`}</span>`;
}

/** @typedef {{ returnedLength: number, originalLength: number }} Cut */

/**
 * The `truncation` of each text in an answer that is a part of a text.
 * @param {unknown} value
 * @returns {Cut[]}
 */
function cutsIn(value) {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (name === "truncation" && inner ? [inner] : cutsIn(inner)));
}

const OUTCOMES = {
  same: ["good", "replays: same"],
  different: ["bad", "replays: differs"],
  notRecorded: ["", "replays: not recorded"],
  damaged: ["bad", "replays: the recording is damaged"],
  otherVersion: ["warn", "replays: of another version"],
};

/** @param {{ seq: number, badge: Resource<Badge> }} props */
function Replays({ seq, badge }) {
  if (badge.error) return html`<span class="badge bad">replays: ${badge.error.message}</span>`;
  if (badge.data === undefined) return html`<span class="badge" aria-busy="true">replaying call ${seq}</span>`;
  const [kind, words] = OUTCOMES[/** @type {keyof typeof OUTCOMES} */ (badge.data.outcome)];
  return html`<span class="badge ${kind}" role="status" title=${`took ${duration(badge.data.tookUs)}`}>${words}</span>`;
}

/** @param {{ badge?: Badge }} props */
function Difference({ badge }) {
  if (badge === undefined || badge.outcome === "same") return null;
  const known = { answer: "the answer", ok: "whether it succeeded", caller: "who called" };
  const what = known[/** @type {keyof typeof known} */ (badge.differs ?? "")] ?? badge.differs ?? "something";
  return html`<div class=${badge.outcome === "different" ? "failure" : "notice"} role="status">
      ${badge.outcome === "different"
        ? html`This program's tool, given the recorded reads, differs in ${what}.`
        : badge.why}
    </div>
    ${badge.difference.length > 0 && html`<${Differences} lines=${badge.difference} left="answered then" right="answered by this program" />`}`;
}

/** @param {{ call: Call }} props */
function Facts({ call }) {
  return html`<dl class="facts">
    <dt>Client</dt>
    <dd><a href=${link("call", "by", call.caller)}>${call.caller}</a></dd>
    <dt>When</dt>
    <dd>${day(call.time)} ${clock(call.time)}, at <a href=${link("at", call.seq)}>the moment of event ${call.seq}</a></dd>
    <dt>Saw</dt>
    <dd>
      the state as of <a href=${link("at", call.asOfSeq)}>event ${call.asOfSeq}</a>, the log up to${" "}
      <a href=${link("at", call.tailSeq)}>event ${call.tailSeq}</a>
    </dd>
    <dt>Took</dt>
    <dd>${duration(call.durationUs)}</dd>
    <dt>${call.told ? "Told" : "Answered"}</dt>
    <dd>${bytes(call.bytes)}, about ${tokens(call.tokens)}</dd>
  </dl>`;
}

/** @param {{ told: Told }} props */
const ToldText = ({ told }) =>
  html`<h3>What the agent was told</h3>
    <p class="quiet">
      ${told.isInserted
        ? html`in a request of <a href=${link("prompt", "overlaid", told.session)}>its chat</a>, of the form ${told.moment};`
        : `in the session ${told.session}, at the runtime's ${told.moment};`}${" "}
      ${told.since === null
        ? "the session had been told nothing before."
        : html`it had been told the state as of <a href=${link("at", told.since)}>event ${told.since}</a> before.`}
    </p>
    ${told.text === null ? html`<p>The text is not kept.</p>` : html`<${Copy} text=${told.text} label="copy the text" /><pre tabindex="0">${told.text}</pre>`}`;

/** @param {{ call: Call }} props */
function Answer({ call }) {
  const [isRaw, setRaw] = useState(false);
  if (call.answer === null) return html`<h3>Answer</h3><p>Its bytes are not kept.</p>`;
  const isCut = call.answer.length < call.answerChars;
  return html`<h3>Answer</h3>
    <p class="buttons">
      <button type="button" aria-pressed=${!isRaw} onClick=${() => setRaw(false)}>for reading</button>
      <button type="button" aria-pressed=${isRaw} onClick=${() => setRaw(true)}>as answered</button>
      ${!isCut && html`<${Copy} text=${call.answer} label="copy the answer" />`}
      <${Download} path="/api/calls/${call.seq}/answer" label="save the answer" />
    </p>
    ${isCut && html`<p class="notice">${count(call.answer.length, "character")} of ${count(call.answerChars, "character")} are shown; the file has all.</p>`}
    <pre tabindex="0" class="answer">${isRaw || isCut ? call.answer : readable(call.answer)}</pre>`;
}

/**
 * JSON in lines, with texts broken at the ends of their lines.
 * @param {string} json
 */
const readable = (json) => JSON.stringify(JSON.parse(json), null, 2).replace(/\\n(?!")/g, "\\n\n");

/** @param {{ call: Call }} props */
function Reads({ call }) {
  if (call.refused !== null) return html`<h3>What it read</h3><p>Nothing, it was refused: ${call.refused}.</p>`;
  if (call.asked === null) return html`<h3>What it read</h3><p>Not recorded.</p>`;
  if (call.asked.length === 0) return html`<h3>What it read</h3><p>The log alone.</p>`;
  const size = call.asked.reduce((sum, each) => sum + each.bytes, 0);
  return html`<h3>What it read</h3>
    <p class="quiet">${count(call.asked.length, "question")} to its view of the workspace, ${bytes(size)} of answers</p>
    <ol class="reads">
      ${call.asked.map((asked) => html`<${Read} key=${asked.index} seq=${call.seq} asked=${asked} />`)}
    </ol>`;
}

/** @param {{ seq: number, asked: Asked }} props */
function Read({ seq, asked }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li>
    <details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
      <summary>
        <code>${asked.question}</code> ${asked.about} <span class="quiet">${bytes(asked.bytes)}</span>
        ${asked.failed && html` <span class="badge bad">error</span>`}
      </summary>
      ${isOpen && html`<${Opened} seq=${seq} index=${asked.index} />`}
    </details>
  </li>`;
}

/** @param {{ seq: number, index: number }} props */
function Opened({ seq, index }) {
  const exchange = /** @type {Resource<Exchanged>} */ (useResource(`/api/calls/${seq}/asked/${index}`));
  return html`<${Loaded} of=${exchange}>${(/** @type {Exchanged} */ shown) => html`
    ${shown.raised && html`<p class="failure">${shown.raised.message}</p>`}
    <${Json} value=${shown.asked} label="question" />
    ${shown.raised === null && html`<${Json} value=${shown.answer} label="answer" open=${shown.notes.length === 0} />`}
    ${shown.notes.map((note) => html`<${Note} key=${note.id} note=${note} />`)}
  `}</${Loaded}>`;
}

/** @param {{ note: NoteRead }} props */
const Note = ({ note }) =>
  html`<details>
    <summary>${note.id} <span class="quiet">${note.bytes ? bytes(note.bytes) : ""} ${note.why}</span></summary>
    ${note.text !== null && html`<${Copy} text=${note.text} label="copy the text" /><pre tabindex="0">${note.text}</pre>`}
  </details>`;

/** @param {{ call: Call }} props */
function CompareWith({ call }) {
  const [other, setOther] = useState("");
  const before = /** @type {Resource<Calls>} */ (
    useResource("/api/calls", { tool: call.tool, caller: call.caller, before: call.seq, limit: 1 })
  );
  const former = before.data?.calls[0];
  const compare = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (/^\d+$/.test(other)) go("call", call.seq, "with", other);
  };
  return html`${before.error && html`<${Failure} error=${before.error} />`}
    ${former && html`<p><a href=${link("call", former.seq, "with", call.seq)}>with call ${former.seq}</a>, the same client's one before of this tool</p>`}
    <form class="filters" onSubmit=${compare}>
      <label>with call <input inputmode="numeric" size="8" value=${other} onInput=${(/** @type {any} */ event) => setOther(event.target.value)} /></label>
      <button type="submit">Compare</button>
    </form>`;
}
