/** Where a text stands: `#/text`, `#/text/WORDS`, `#/text/WORDS/in/LANE`. The earliest event first. */

import { get } from "../api.js";
import { foldedTo } from "../folding.js";
import { Command } from "../parts/copy.js";
import { clock, count, day } from "../parts/format.js";
import { Failure } from "../parts/resource.js";
import { go, link } from "../router.js";
import { about, logArgument, quoted } from "../store.js";
import { html, useEffect, useRef, useState } from "../vendor/index.js";

/** @typedef {import("../types").Texts} Answer */
/** @typedef {import("../types").TextHit} Hit */
/** @typedef {{ hits: Hit[], read: number, notKept: number, next: number | null, isReading: boolean }} Found */

const PAGE = 50;
const LANES = {
  "": "everything",
  prompts: "prompts and messages",
  calls: "calls and their answers",
  volunteered: "what agents were told without asking",
  navigation: "navigation",
  files: "changes of files",
  sharing: "sharing and pauses",
  log: "the log's own events",
};
const WHERE = /** @type {Record<string, string>} */ ({
  event: "in the event",
  message: "in a message",
  arguments: "in the arguments",
  answer: "in the answer",
  told: "in what the agent was told",
  messages: "in the messages sent",
});

/** @param {{ parts: string[] }} props */
export function Texts({ parts }) {
  const [text = "", , lanes = ""] = parts;
  const [typed, setTyped] = useState(text);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (text === "") field.current?.focus();
  }, []);
  const show = (/** @type {string} */ words, /** @type {string} */ within) => {
    if (words.trim()) go("text", words.trim(), ...(within ? ["in", within] : []));
  };
  return html`<section aria-labelledby="text-title">
    <h2 id="text-title">Search</h2>
    <p class="quiet">
      Which prompt first held this sentence, which answer named this note? Prompts are searched as they were sent, calls as they
      were answered. The earliest comes first.
    </p>
    <form class="texts-form" role="search" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), show(typed, lanes))}>
      <label>Text <input ref=${field} type="search" maxlength="200" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>
      <label>in${" "}
        <select value=${lanes} onChange=${(/** @type {any} */ event) => show(typed || text, event.target.value)}>
          ${Object.entries(LANES).map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}
        </select>
      </label>
      <button type="submit">Search</button>
    </form>
    ${text && html`<${Result} key=${`${text}/${lanes}`} text=${text} lanes=${lanes} />`}
  </section>`;
}

/** @param {{ text: string, lanes: string }} props */
function Result({ text, lanes }) {
  const [wanted, setWanted] = useState(PAGE);
  const [found, error] = useTexts(text, lanes, wanted);
  const { hits, read, notKept, next, isReading } = found;
  const all = about.value?.events ?? 0;
  return html`
    ${error && html`<${Failure} error=${error} />`}
    <p role="status" aria-busy=${isReading}>
      ${isReading && html`<progress aria-label="Events read" max=${all || 1} value=${read}></progress>${" "}`}
      ${hits.length ? html`<b>${count(hits.length, "event")}</b> with “${text}”` : isReading ? "Nothing yet" : `“${text}” stands nowhere here`},
      ${" "}${count(read, "event")} read${lanes ? ` of ${LANES[/** @type {keyof typeof LANES} */ (lanes)] ?? lanes}` : ` of ${all.toLocaleString("en")}`}.
      ${notKept > 0 && html` ${count(notKept, "recording")} not kept, so not searched.`}
    </p>
    <ol class="texts-hits">${hits.map((hit) => html`<${HitLine} key=${hit.row.seq} hit=${hit} />`)}</ol>
    ${!isReading && !error && next !== null && html`<p><button type="button" onClick=${() => setWanted(hits.length + PAGE)}>Read on from event ${next}</button></p>`}
    <${Command} line=${commandOf(text, lanes)} />`;
}

/**
 * @param {string} text
 * @param {string} lanes
 */
function commandOf(text, lanes) {
  const words = ["workspaced log search", lanes && `--in ${lanes}`, text.startsWith("-") && "--", quoted(text), logArgument.value];
  return words.filter(Boolean).join(" ");
}

/**
 * Reads answer by answer, until there are as many hits as wanted or the log ends.
 * @param {string} text
 * @param {string} lanes
 * @param {number} wanted
 * @returns {[Found, Error | null]}
 */
function useTexts(text, lanes, wanted) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [found, setFound] = useState(/** @type {Found} */ ({ hits: [], read: 0, notKept: 0, next: null, isReading: true }));
  useEffect(() => {
    const aborting = new AbortController();
    const readOn = async () => {
      await foldedTo(() => about.value?.events ?? 0);
      let known = found;
      do {
        const answer = /** @type {Answer} */ (
          await get("/api/texts", { text, lanes: lanes || undefined, from: known.next ?? undefined, limit: PAGE }, aborting.signal)
        );
        known = {
          hits: [...known.hits, ...answer.hits],
          read: known.read + answer.read,
          notKept: known.notKept + answer.notKept,
          next: answer.next,
          isReading: answer.next !== null && known.hits.length + answer.hits.length < wanted,
        };
        setFound(known);
      } while (known.isReading);
    };
    readOn().catch((failure) => {
      if (aborting.signal.aborted) return;
      setError(failure);
      setFound((former) => ({ ...former, isReading: false }));
    });
    return () => aborting.abort();
  }, [wanted]);
  return [found, error];
}

/** @param {{ hit: Hit }} props */
function HitLine({ hit }) {
  const { row, where, block, before, after, times } = hit;
  const [name, address] = target(hit);
  const layer = /^L\d/.test(where) ? `in ${where.slice(0, 2)}` : "";
  return html`<li>
    <a href=${address}>${name}</a>${" "}
    <span class="quiet">${day(row.time)} ${clock(row.time)} · <bdi>${row.who}</bdi> · ${layer || WHERE[where] || where}${block && html` · <bdi>${block}</bdi>`}${times > 1 && ` · ${times} times`}</span>
    ${name.startsWith("Event") ? null : html` <a class="quiet" href=${link("at", row.seq)}>the moment</a>`}
    <q>${before}<mark>${hit.found}</mark>${after}</q>
  </li>`;
}

/** @param {Hit} hit @returns {[string, string]} what opens it */
function target({ row, where }) {
  if (row.type === "prompt_assembled") {
    return [`Prompt ${row.seq}`, link("prompt", row.seq, ...(/^L\d/.test(where) ? ["layer", where.slice(0, 2)] : []))];
  }
  if (row.lane === "calls" || row.lane === "volunteered") return [`Call ${row.seq}`, link("call", row.seq)];
  return [`Event ${row.seq}`, link("at", row.seq)];
}
