/** The list of calls: the latest first, a page at a time; two of them can be marked and compared. */

import { Command } from "../parts/copy.js";
import { bytes, clock, count, day, duration } from "../parts/format.js";
import { Loaded, useResource } from "../parts/resource.js";
import { go, link } from "../router.js";
import { about, logArgument, quoted } from "../store.js";
import { html, useEffect, useState } from "../vendor/index.js";

/** @typedef {import("./calls.js").Filters} Filters */
/** @typedef {import("../types").Calls} Page */
/** @typedef {import("../types").Listed} CallRow */

const PAGE = 100;
/** What agents were told without asking is the answer of this tool. */
const VOLUNTEERED = "volunteer_context";
const ARGUMENTS_CHARS = 80;

/** @param {{ filters: Filters }} props */
export function CallList({ filters }) {
  const page = /** @type {import("../parts/resource.js").Resource<Page>} */ (
    useResource("/api/calls", { ...filters, limit: PAGE })
  );
  return html`<section aria-labelledby="calls-title">
    <h2 id="calls-title">Calls</h2>
    <p class="quiet">What agents asked with tools, and what they were told. Each opens with the exact bytes of its answer.</p>
    <${FilterBar} filters=${filters} rows=${page.data?.calls ?? []} />
    <${Loaded} of=${page}>${(/** @type {Page} */ data) => html`<${Table} page=${data} filters=${filters} />`}</${Loaded}>
    <${Command} line=${commandOf(filters)} />
  </section>`;
}

/** @param {Filters} filters */
function commandOf({ caller, tool, failed }) {
  const options = [tool && `--tool ${quoted(tool)}`, caller && `--client ${quoted(caller)}`, failed && "--failed"];
  return ["workspaced calls list", logArgument.value, ...options.filter(Boolean)].join(" ");
}

/** @param {Filters} filters */
function parts({ caller, tool, failed, before }) {
  return [
    "call",
    ...(caller ? ["by", caller] : []),
    ...(tool ? ["of", tool] : []),
    ...(failed ? ["failed"] : []),
    ...(before ? ["before", before] : []),
  ];
}

/** @param {{ filters: Filters, rows: CallRow[] }} props */
function FilterBar({ filters, rows }) {
  const [tool, setTool] = useState(filters.tool ?? "");
  const [caller, setCaller] = useState(filters.caller ?? "");
  useEffect(() => {
    setTool(filters.tool ?? "");
    setCaller(filters.caller ?? "");
  }, [filters.tool, filters.caller]);
  const show = (/** @type {Partial<Filters>} */ changed) =>
    go(...parts({ ...filters, tool, caller, before: undefined, ...changed }));
  const names = (/** @type {"tool" | "caller"} */ field) => [...new Set(rows.map((row) => row[field]))].sort();
  return html`<form class="call-filters" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), show({}))}>
    <label>Client <input list="callers" value=${caller} onInput=${(/** @type {any} */ event) => setCaller(event.target.value)} onChange=${(/** @type {any} */ event) => show({ caller: event.target.value })} /></label>
    <label>Tool <input list="tools" value=${tool} onInput=${(/** @type {any} */ event) => setTool(event.target.value)} onChange=${(/** @type {any} */ event) => show({ tool: event.target.value })} /></label>
    <label><input type="checkbox" checked=${filters.failed} onChange=${(/** @type {any} */ event) => show({ failed: event.target.checked })} /> only failed</label>
    ${(filters.tool || filters.caller || filters.failed) && html`<a href=${link("call")}>all calls</a>`}
    <datalist id="callers">${names("caller").map((name) => html`<option key=${name} value=${name} />`)}</datalist>
    <datalist id="tools">${names("tool").map((name) => html`<option key=${name} value=${name} />`)}</datalist>
  </form>`;
}

/** @param {{ page: Page, filters: Filters }} props */
function Table({ page, filters }) {
  const [marked, setMarked] = useState(/** @type {number[]} */ ([]));
  const mark = (/** @type {number} */ seq) =>
    setMarked(marked.includes(seq) ? marked.filter((each) => each !== seq) : [...marked.slice(-1), seq]);
  if (page.calls.length === 0) return html`<${Nothing} page=${page} filters=${filters} />`;
  const told = page.calls.filter((row) => row.tool === VOLUNTEERED).length;
  return html`
    <${Compare} marked=${marked} />
    <div class="scroll">
      <table class="calls" onKeyDown=${onKey}>
        <caption class="quiet">${count(page.calls.length - told, "call")}${told > 0 && ` and ${count(told, "time")} that an agent was told without asking`}, the latest first. Arrow keys go through them, x marks one.</caption>
        <thead>
          <tr>
            <th scope="col"><span class="hidden-label">Mark to compare</span></th>
            <th scope="col" class="number">Event</th>
            <th scope="col" class="wide">Time</th>
            <th scope="col" class="wide">Client</th>
            <th scope="col">Tool</th>
            <th scope="col" class="wide">Arguments</th>
            <th scope="col" class="number wide">Took</th>
            <th scope="col" class="number wide">Size</th>
            <th scope="col" class="number wide">~Tokens</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          ${page.calls.map((row, at) => html`<${Row} key=${row.seq} row=${row} newDay=${newDay(row, page.calls[at - 1])} isMarked=${marked.includes(row.seq)} onMark=${mark} />`)}
        </tbody>
      </table>
    </div>
    <${Pages} page=${page} filters=${filters} />
  `;
}

/**
 * The day of a row, if the row before is of another one.
 * @param {CallRow} row
 * @param {CallRow | undefined} former
 */
const newDay = (row, former) => (former && day(former.time) === day(row.time) ? "" : day(row.time));

/** @param {{ row: CallRow, newDay: string, isMarked: boolean, onMark: (seq: number) => void }} props */
function Row({ row, newDay, isMarked, onMark }) {
  return html`<tr class=${isMarked ? "marked" : ""}>
    <td>
      <input type="checkbox" checked=${isMarked} aria-label="Mark call ${row.seq} to compare" onChange=${() => onMark(row.seq)} />
    </td>
    <td class="number"><a class="call-link" href=${link("call", row.seq)}>${row.seq}</a></td>
    <td class="wide"><time datetime=${row.time} title=${row.time}>${newDay} ${clock(row.time)}</time></td>
    <td class="wide"><a href=${link("call", "by", row.caller)}>${row.caller}</a></td>
    <td>
      <a href=${link("call", "of", row.tool)}>${row.tool}</a>
      ${row.tool === VOLUNTEERED && html` <span class="badge" title="without asking">told</span>`}
      <span class="narrow quiet">by ${row.caller}<br />${clock(row.time)}, ${bytes(row.bytes)}</span>
    </td>
    <td class="wide mono arguments">${argumentsOf(row)}</td>
    <td class="number wide">${duration(row.durationUs)}</td>
    <td class="number wide">${bytes(row.bytes)}</td>
    <td class="number wide">${row.tokens.toLocaleString("en")}</td>
    <td><${Outcome} ok=${row.ok} code=${row.code} />${row.kept ? null : html` <span class="badge">not kept</span>`}</td>
  </tr>`;
}

/** @param {{ ok: boolean, code: string | null }} props */
export const Outcome = ({ ok, code }) =>
  html`<span class="badge ${ok ? "good" : "bad"}">${ok ? "ok" : `failed${code ? ` ${code}` : ""}`}</span>`;

/** @param {CallRow} row */
function argumentsOf(row) {
  if (row.tool === VOLUNTEERED) return "(told without asking)";
  if (row.argumentsSha256 !== null) return "(long)";
  const text = Object.entries(row.arguments)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
  return text.length > ARGUMENTS_CHARS ? `${text.slice(0, ARGUMENTS_CHARS - 1)}…` : text;
}

/** @param {{ marked: number[] }} props */
function Compare({ marked }) {
  const [first, second] = [...marked].sort((one, other) => one - other);
  if (first === undefined) return null;
  if (second === undefined) return html`<p class="notice" role="status">Call ${first} is marked; mark another one to compare them.</p>`;
  return html`<p class="notice" role="status">
    <a href=${link("call", first, "with", second)}>Compare call ${first} with call ${second}</a>
  </p>`;
}

/** @param {{ page: Page, filters: Filters }} props */
function Pages({ page, filters }) {
  return html`<nav class="pages" aria-label="Pages of calls">
    ${filters.before && html`<a href=${link(...parts({ ...filters, before: undefined }))}>Latest calls</a>`}
    ${page.before !== null && html`<a href=${link(...parts({ ...filters, before: page.before }))}>Earlier calls, before event ${page.before}</a>`}
  </nav>`;
}

/** @param {{ page: Page, filters: Filters }} props */
function Nothing({ page, filters }) {
  if (page.before !== null) {
    return html`<p>None of the calls looked at fits.</p><${Pages} page=${page} filters=${filters} />`;
  }
  if (about.value?.calls && (filters.tool || filters.caller || filters.failed || filters.before)) {
    return html`<p>No call fits. <a href=${link("call")}>All calls</a></p>`;
  }
  return html`<p>
    The log holds no call: no agent has asked anything yet, and none was told anything without asking. An agent's
    program gets the tools by <code>workspaced connect</code>; <code>workspaced demo</code> leaves a log with calls.
  </p>`;
}

/** Arrow keys move through the rows; x marks the row. */
function onKey(/** @type {KeyboardEvent} */ event) {
  const row = event.target instanceof Element ? event.target.closest("tbody tr") : null;
  if (row === null || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
  if (step) /** @type {HTMLElement} */ (step.querySelector(".call-link")).focus();
  else if (event.key === "x") /** @type {HTMLElement} */ (row.querySelector("input")).click();
  else return;
  event.preventDefault();
}
