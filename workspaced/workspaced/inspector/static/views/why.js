/** Why: a note's line of life: looked at, changed, shown to whom at which revision, withheld since when. */

import { get } from "../api.js";
import { Command } from "../parts/copy.js";
import { bytes, clock, count, day, tokens } from "../parts/format.js";
import { Failure, Loaded, useResource } from "../parts/resource.js";
import { go, link } from "../router.js";
import { about, logArgument, quoted, version } from "../store.js";
import { html, useEffect, useState } from "../vendor/index.js";

/** @typedef {import("../types").Life} Life */
/** @typedef {import("../types").Trace} Trace */
/** @typedef {import("../types").Present} Present */
/** @typedef {import("../types").Notes} Notes */

/** @type {Record<string, { title: string, kinds: string[] }>} */
const GROUPS = {
  looked: { title: "Looked at", kinds: ["looked"] },
  shown: { title: "Shown to agents", kinds: ["asked", "told", "prompt", "leftOut", "attached"] },
  changed: { title: "Changed", kinds: ["file", "memory"] },
  sharing: { title: "Withheld or not", kinds: ["sharing", "refused"] },
  other: { title: "Tabs, pins, selections", kinds: ["navigation"] },
};
/** @type {Record<string, string>} */
const LEVELS = {
  never: "It is withheld from every agent",
  "on-request": "It is shown only to agents that ask for it",
  volunteer: "It may be shown",
};
/** @type {Record<string, string>} */
const REACH = { nothing: "nothing of it", names: "its path and title", all: "all of it" };

/** @param {{ parts: string[] }} props `#/note/work%2Fplan.md`; without a path: to look one up */
export function Why({ parts }) {
  const [path] = parts;
  return html`<section aria-labelledby="why-title">
    <h2 id="why-title">${path === undefined ? "Why: a note's line of life" : html`Why: <bdi>${path}</bdi>`}</h2>
    <${Search} isAlone=${path === undefined} key=${path} />
    ${path !== undefined && html`<${Line} key=${path} path=${path} />`}
  </section>`;
}

/** @param {{ isAlone: boolean }} props whether the page shows no note yet */
function Search({ isAlone }) {
  const [query, setQuery] = useState("");
  const [more, setMore] = useState(0);
  const isAsked = isAlone || query !== "";
  const found = /** @type {import("../parts/resource.js").Resource<Notes>} */ (
    useResource(isAsked ? "/api/notes" : null, { query, limit: 20 }, version.value + more)
  );
  const { data } = found;
  const isWhole = data === undefined || data.read >= data.of;
  useEffect(() => {
    if (!isWhole && !found.stale) setMore((before) => before + 1);
  }, [found]);
  return html`<search>
    <form class="note-search" onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      const first = data?.notes[0];
      if (first) go("note", first.path);
    }}>
      <label>Note <input type="search" value=${query} placeholder="words of its path" onInput=${(/** @type {Event} */ { target }) => setQuery(/** @type {HTMLInputElement} */ (target).value)} /></label>
      ${!isWhole && html`<span class="quiet" role="status">read ${count(data.read, "event")} of ${count(data.of, "event")}</span>`}
    </form>
    ${found.error && html`<${Failure} error=${found.error} />`}
    ${isAsked && data !== undefined &&
    (data.notes.length === 0
      ? html`<p class="notice">${query ? "The log names no such note." : "The log names no note yet."}</p>`
      : html`<ul class="found-notes">
            ${data.notes.map(
              (note) =>
                html`<li key=${note.path}>
                  <a href=${link("note", note.path)}><bdi>${note.path}</bdi></a>
                  ${" "}<span class="quiet">${count(note.events, "event")}, last <a href=${link("at", note.last)}>${note.last}</a></span>
                </li>`,
            )}
          </ul>
          ${data.fitting > data.notes.length && html`<p class="quiet">and ${data.fitting - data.notes.length} more</p>`}`)}
  </search>`;
}

/** @param {{ path: string }} props */
function Line({ path }) {
  const life = /** @type {import("../parts/resource.js").Resource<Life>} */ (
    useResource(`/api/notes/${encodePath(path)}`, {}, version.value)
  );
  const [older, setOlder] = useState(/** @type {Life[]} */ ([]));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const further = (/** @type {number} */ before) =>
    get(`/api/notes/${encodePath(path)}`, { before }).then((/** @type {Life} */ found) => setOlder([...older, found]), setError);
  return html`<${Loaded} of=${life}>
    ${(/** @type {Life} */ newest) => {
      const every = [newest, ...older];
      const from = every.at(-1)?.searchedFrom ?? null;
      return html`<${Traces} lives=${every} />
        ${error && html`<${Failure} error=${error} />`}
        <p>
          ${from === null
            ? html`<span class="quiet">This is all that the log says.</span>`
            : html`<button type="button" onClick=${() => further(from)}>Look before event ${from}</button>`}
        </p>
        <${Command} line=${commandLine(newest)} />`;
    }}
  </${Loaded}>`;
}

/** @param {{ lives: Life[] }} props */
function Traces({ lives }) {
  const [hidden, setHidden] = useState(/** @type {string[]} */ (["other"]));
  const newest = /** @type {Life} */ (lives[0]);
  const traces = distinct(lives.flatMap((life) => life.traces));
  const notKept = lives.reduce((sum, life) => sum + life.notKept, 0);
  const current = revisionNow(traces);
  const of = (/** @type {string} */ group) => traces.filter(({ kind }) => GROUPS[group]?.kinds.includes(kind));
  const shown = traces.filter(({ kind }) => !hidden.some((group) => GROUPS[group]?.kinds.includes(kind)));
  const toggle = (/** @type {string} */ group) =>
    setHidden(hidden.includes(group) ? hidden.filter((each) => each !== group) : [...hidden, group]);
  return html`
    ${newest.now !== newest.path && html`<p>It is called <a href=${link("note", newest.now)}><bdi>${newest.now}</bdi></a> now.</p>`}
    ${newest.names.length > 1 && html`<p class="quiet">Its paths: <bdi>${newest.names.join(", ")}</bdi></p>`}
    ${newest.present && html`<${Now} present=${newest.present} />`}
    <${LastShown} traces=${traces} current=${current} />
    ${notKept > 0 &&
    html`<p class="quiet">Of ${count(notKept, "call")} or prompts nobody can say: what they read is not kept.</p>`}
    <p class="groups" role="group" aria-label="What is listed">
      ${Object.entries(GROUPS).map(
        ([group, { title }]) =>
          html`<button type="button" key=${group} aria-pressed=${!hidden.includes(group)} onClick=${() => toggle(group)}>
            ${title} <span class="quiet">${of(group).length}</span>
          </button>`,
      )}
    </p>
    ${shown.length === 0
      ? html`<p class="notice">Nothing of that is in the part of the log that was looked at.</p>`
      : html`<${Table} traces=${shown} current=${current} />`}
  `;
}

/**
 * The note's newest revision that is known. Prompts and answers may show an older one; what a file became, says the newest.
 * @param {Trace[]} traces newest first
 */
function revisionNow(traces) {
  const versions = traces.filter(({ revision }) => revision !== null);
  const changed = versions.find(({ kind }) => kind === "file" || kind === "memory");
  return (changed ?? versions[0])?.revision ?? null;
}

/** @param {{ traces: Trace[], current: string | null }} props */
function Table({ traces, current }) {
  return html`<table class="event-table traces">
    <thead>
      <tr>
        <th scope="col">Event</th>
        <th scope="col">Time</th>
        <th scope="col">Kind</th>
        <th scope="col">What happened</th>
        <th scope="col">Revision</th>
        <th scope="col" class="number">Size</th>
      </tr>
    </thead>
    <tbody>
      ${traces.map(
        (trace, at) =>
          html`<tr key=${`${trace.seq}-${at}`}>
            <td><a href=${placeOf(trace)}>${trace.seq}</a></td>
            <td title=${trace.time}>${day(trace.time)} ${clock(trace.time).slice(0, 8)}</td>
            <td><span class=${`kind lane-${LANES[trace.kind] ?? "navigation"}`}>${WORDS[trace.kind] ?? trace.kind}</span></td>
            <td class="sentence"><bdi>${trace.sentence}</bdi>${trace.kind === "looked" && ` ${untilWords(trace)}`}</td>
            <td><${Revision} trace=${trace} current=${current} /></td>
            <td class="number">
              ${trace.bytes !== null && bytes(trace.bytes)}${trace.tokens ? ` ${tokens(trace.tokens)}` : ""}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** @type {Record<string, string>} */
const LANES = {
  file: "files",
  memory: "files",
  asked: "calls",
  told: "volunteered",
  refused: "calls",
  prompt: "prompts",
  leftOut: "prompts",
  attached: "prompts",
  sharing: "sharing",
};
/** @type {Record<string, string>} */
const WORDS = { looked: "looked at", leftOut: "left out", asked: "asked", told: "told", navigation: "editor" };

/** @param {{ trace: Trace, current: string | null }} props */
function Revision({ trace: { revision }, current }) {
  if (revision === null) return null;
  return html`<code title=${revision}>${revision.slice(0, 8)}</code>${revision === current ? "" : html` <span class="badge warn" title="not the newest version that this log knows">older</span>`}`;
}

/** @param {{ present: Present }} props */
function Now({ present }) {
  return html`<div class=${present.withheld ? "warning" : "notice"}>
    <strong>${LEVELS[present.level] ?? present.level}.</strong>
    ${present.reasons.map((reason) => html` <span key=${reason.kind}>${reason.kind}: <bdi>${reason.detail}</bdi>.</span>`)}
    <ul class="latest">
      ${present.clients.map(
        (each) =>
          html`<li key=${each.client} class="reach">
            <bdi>${each.client === "*" ? "any other agent" : each.client}</bdi> is shown
            ${` ${REACH[each.shown] ?? each.shown}`}${each.unasked || each.shown === "nothing" ? "" : " when it asks for it"}
          </li>`,
      )}
    </ul>
  </div>`;
}

/** @param {{ traces: Trace[], current: string | null }} props */
function LastShown({ traces, current }) {
  const shown = traces.filter(({ kind, agent }) => agent !== null && (kind === "asked" || kind === "told"));
  const last = shown.filter(({ agent }, at) => shown.findIndex((each) => each.agent === agent) === at);
  const prompt = traces.find(({ kind, revision }) => kind === "prompt" && revision !== null);
  const refused = traces.find(({ kind }) => kind === "refused");
  const nobody = refused === undefined ? "No agent asked for it or was told of it" : "No agent was shown it";
  if (last.length === 0 && prompt === undefined)
    return html`<p>
      ${nobody}, as far as recordings tell.
      ${refused && html` Last asked in vain: <bdi>${refused.sentence}</bdi> (<a href=${placeOf(refused)}>call ${refused.seq}</a>).`}
    </p>`;
  return html`<dl class="facts">
    ${last.map(
      (trace) =>
        html`<dt key=${trace.agent}>Last to <bdi>${trace.agent}</bdi></dt>
          <dd>
            <a href=${link("call", trace.seq)}>event ${trace.seq}</a>, ${day(trace.time)} ${clock(trace.time).slice(0, 8)},
            ${trace.revision === null ? " only its name" : html` revision <${Revision} trace=${trace} current=${current} />`}
          </dd>`,
    )}
    ${prompt &&
    html`<dt>Last in a prompt</dt>
      <dd>
        <a href=${placeOf(prompt)}>prompt ${prompt.seq}</a>, ${day(prompt.time)} ${clock(prompt.time).slice(0, 8)}, revision${" "}
        <${Revision} trace=${prompt} current=${current} />
      </dd>`}
  </dl>`;
}

/** @param {Trace} trace */
const untilWords = ({ until }) => (until === null ? "and stays" : `until ${clock(until).slice(0, 8)}`);

/** @param {Trace} trace */
function placeOf({ kind, seq, layer }) {
  if (kind === "asked" || kind === "told" || kind === "refused") return link("call", seq);
  if (layer !== null) return link("prompt", seq, "layer", layer);
  return link("at", seq);
}

/**
 * Live, the newest answer grows into what was looked at further back.
 * @param {Trace[]} traces
 */
function distinct(traces) {
  const seen = new Set();
  return traces.filter((trace) => {
    const key = JSON.stringify([trace.seq, trace.kind, trace.layer]);
    return !seen.has(key) && seen.add(key);
  });
}

/** @param {string} path */
const encodePath = (path) => path.split("/").map(encodeURIComponent).join("/");

/** @param {Life} life */
function commandLine({ now, vault }) {
  const log = about.value;
  if (log?.kind === "daemon") return `workspaced why ${quoted(now)} --vault ${quoted(vault)} --socket ${quoted(log.socket)}`;
  return `workspaced replay ${logArgument.value} --steps --json | grep -F ${quoted(JSON.stringify(now))}`;
}
