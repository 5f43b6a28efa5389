/** Coverage: of the notes that agents were given, which they used, which they did not, and of which nobody knows. */

import { bytes, count, tokens } from "../parts/format.js";
import { Loaded, useResource } from "../parts/resource.js";
import { go, link } from "../router.js";
import { html, signal, useState } from "../vendor/index.js";

/**
 * @typedef {import("../types").CoverageShown} Shown
 * @typedef {import("../types").CoveredNote} Covered
 * @typedef {"unused" | "unknown" | "used"} Status
 */

const PAGE = 100;

/** Each status in words, and what it means. */
const STATUS = /** @type {const} */ ({
  unused: {
    title: "delivered and never used",
    sign: "✕",
    badge: "warn",
    means: "every agent that had it answered afterwards, and no answer and no later call names it",
  },
  unknown: { title: "unknown", sign: "?", badge: "", means: "the log holds no answer of an agent that had it" },
  used: { title: "used", sign: "✓", badge: "good", means: "an answer names it, or a later call asks for it" },
});

/** Stays while other views are looked at. */
const chosenStatus = signal(/** @type {Status | ""} */ (""));

/** `#/coverage`, `#/coverage/FROM/TO` @param {{ parts: string[] }} props */
export function Coverage({ parts }) {
  const [from, to] = parts;
  const status = chosenStatus.value;
  // A page of one range is no page of another one.
  const [page, setPage] = useState({ from, to, offset: 0 });
  const offset = page.from === from && page.to === to ? page.offset : 0;
  const setOffset = (/** @type {number} */ next) => setPage({ from, to, offset: next });
  const found = /** @type {import("../parts/resource.js").Resource<Shown>} */ (
    useResource("/api/coverage", { from, to, status: status || undefined, offset: offset || undefined, limit: PAGE })
  );
  const choose = (/** @type {Status | ""} */ chosen) => {
    chosenStatus.value = chosen;
    setOffset(0);
  };
  return html`<section aria-labelledby="coverage-title">
    <h2 id="coverage-title">Coverage</h2>
    <p class="quiet">
      What agents were given, and whether they came back to it. An answer may rest on a note that it does not name, so
      “never used” is a hint, not a proof.
    </p>
    <${Range} key=${`${from}-${to}`} from=${from} to=${to} />
    <${Loaded} of=${found}>
      ${(/** @type {Shown} */ shown) => html`<${Totals} shown=${shown} status=${status} choose=${choose} />
        <${Notes} shown=${shown} offset=${offset} setOffset=${setOffset} />`}
    </${Loaded}>
  </section>`;
}

/**
 * Which events are looked at: part of the link.
 * @param {{ from: string | undefined, to: string | undefined }} props
 */
function Range({ from, to }) {
  const show = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const parts = [String(given.get("from") ?? "").trim() || "0", String(given.get("to") ?? "").trim()];
    go("coverage", ...parts.filter(Boolean));
  };
  return html`<form class="coverage-range" onSubmit=${show}>
    <label>From event <input name="from" inputmode="numeric" pattern="[0-9]*" size="8" defaultValue=${from ?? ""} /></label>
    <label>to event <input name="to" inputmode="numeric" pattern="[0-9]*" size="8" defaultValue=${to ?? ""} placeholder="the last" /></label>
    <button type="submit">show</button>
  </form>`;
}

/** @param {{ shown: Shown, status: Status | "", choose: (status: Status | "") => void }} props */
function Totals({ shown, status, choose }) {
  if (shown.read === 0) return null;
  const all = shown.totals.reduce((sum, each) => sum + each.tokens, 0);
  return html`<div class="coverage-bar" role="img" aria-label=${shown.totals.map((each) => `${STATUS[each.status].title}: ${tokens(each.tokens)}`).join("; ")}>
      ${shown.totals
        .filter((each) => each.tokens)
        .map((each) => html`<span key=${each.status} class="coverage-part ${each.status}" style=${{ flexGrow: each.tokens }}></span>`)}
    </div>
    <ul class="coverage-totals">
      ${shown.totals.map(
        (each) => html`<li key=${each.status}>
          <button type="button" aria-pressed=${status === each.status ? "true" : "false"} onClick=${() => choose(status === each.status ? "" : each.status)}>
            <span class="coverage-part ${each.status}"></span> ${STATUS[each.status].title}
          </button>${" "}
          <b>${count(each.notes, "note")}</b>, ~${tokens(each.tokens)}${all ? ` (${Math.round((100 * each.tokens) / all)} %)` : ""}:${" "}
          <span class="quiet">${STATUS[each.status].means}</span>
        </li>`,
      )}
    </ul>
    <p class="quiet">
      From ${count(shown.read, "event")} that gave something, between the events ${shown.first} and ${shown.last}${shown.isCut ? "; earlier ones of the range were not read" : ""}. Names in lists of calls do not count as given.${" "}
      ${shown.notKept ? html`<b>${shown.notKept} of them are not kept: what they gave is not known.</b>` : null}
    </p>`;
}

/** @param {{ shown: Shown, offset: number, setOffset: (offset: number) => void }} props */
function Notes({ shown, offset, setOffset }) {
  if (shown.notes.length === 0) {
    return html`<p>
      ${shown.read ? "No note of this kind was given." : "No agent was given anything in this part of the log: there is neither a call nor a prompt."}
    </p>`;
  }
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Notes">
      <table class="coverage">
        <thead>
          <tr>
            <th scope="col">Note</th>
            <th scope="col">Status</th>
            <th scope="col" class="number">Given</th>
            <th scope="col" class="number">Size</th>
            <th scope="col">By</th>
            <th scope="col">Used by</th>
          </tr>
        </thead>
        <tbody>${shown.notes.map((each) => html`<${Note} key=${each.note} each=${each} />`)}</tbody>
      </table>
    </div>
    ${shown.notesTotal > shown.notes.length
      ? html`<p>
          Notes ${offset + 1} to ${offset + shown.notes.length} of ${shown.notesTotal}.
          <button type="button" disabled=${offset === 0} onClick=${() => setOffset(Math.max(0, offset - PAGE))}>the ones before</button>
          <button type="button" disabled=${offset + shown.notes.length >= shown.notesTotal} onClick=${() => setOffset(offset + PAGE)}>the next ones</button>
        </p>`
      : null}`;
}

/** @param {{ each: Covered }} props */
function Note({ each }) {
  const { title, sign, badge } = STATUS[each.status];
  return html`<tr>
    <th scope="row"><a href=${link("note", each.note)}>${each.note}</a></th>
    <td>
      <span class="badge ${badge}">${sign} ${title}</span>
      ${each.status === "unknown" ? html`<br /><span class="quiet">no answer of ${each.unknownTo.join(", ")}</span>` : null}
    </td>
    <td class="number">${count(each.givenCount, "time")}</td>
    <td class="number">~${tokens(each.tokens)}<br /><span class="quiet">${bytes(each.bytes)}</span></td>
    <td>
      <ul class="coverage-links">
        ${each.given.map(
          (given) => html`<li key=${`${given.seq}${given.what}`}>
            <a href=${link(given.how === "prompt" ? "prompt" : "call", given.seq)}>${given.how} ${given.seq}</a>${given.what === "name" ? html` <span class="quiet">name only</span>` : null}
          </li>`,
        )}
      </ul>
      ${each.givenCount > each.given.length ? html`<span class="quiet">the last ${each.given.length}</span>` : null}
    </td>
    <td>
      <ul class="coverage-links">
        ${each.used.map(
          (use, at) => html`<li key=${at}>
            <a href=${use.how === "touched" ? link("call", use.seq) : link("at", use.seq)}>${use.how} ${use.seq}</a> <span class="quiet">${use.by}</span>
          </li>`,
        )}
      </ul>
      ${each.usedCount > each.used.length ? html`<span class="quiet">the first ${each.used.length}</span>` : null}
      ${each.usedCount ? null : html`<span class="quiet">nothing</span>`}
    </td>
  </tr>`;
}
