/** What if: the workspace without chosen events, or with actions more, beside the real one; and a tool's answer there. */

import { post } from "../api.js";
import { Command } from "../parts/copy.js";
import { clock } from "../parts/format.js";
import { Json } from "../parts/json.js";
import { Failure, Loaded, useResource } from "../parts/resource.js";
import { Waiting } from "../parts/waiting.js";
import { go, link } from "../router.js";
import { about, at, logArgument, quoted } from "../store.js";
import { html, useEffect, useRef, useState } from "../vendor/index.js";

/** @typedef {import("../types").WhatIf} WhatIf */
/** @typedef {import("../types").EventTold} EventTold */
/** @typedef {import("../types").Newest} Newest */
/** @typedef {{ type: string, data: Record<string, unknown> }} Action */
/** @typedef {{ without: number[], actions: Action[], tool: string, arguments: object }} World */

const NOTHING = /** @type {World} */ ({ without: [], actions: [], tool: "", arguments: {} });
const LISTED = 60;
/** Actions of one note, by their words. */
const ACTIONS = {
  note_pinned: "pins",
  note_unpinned: "unpins",
  active_note_set: "shows",
  temporary_tab_opened: "opens a tab of",
  note_archived: "archives",
};

/** @param {{ parts: string[] }} props `#/what-if/1234`; without a moment: the one that is looked at */
export function WhatIfView({ parts }) {
  const place = parts[0] ?? (at.value || String(about.value?.last ?? ""));
  const [world, setWorld] = useState(NOTHING);
  return html`<section aria-labelledby="what-if-title">
    <h2 id="what-if-title">What if <span class="badge warn">hypothetical</span></h2>
    <p>
      At the moment after event <${Place} place=${place} />: what if something had not happened, or an editor had done something
      more? Nothing of this is recorded. What a prompt would have been with another text of a note stands on its page, in${" "}
      <a href=${link("prompt")}>Prompts</a>.
    </p>
    <div class="columns">
      <div>
        <${Without} place=${place} world=${world} onWorld=${setWorld} />
        <${More} world=${world} onWorld=${setWorld} />
        <${Tool} world=${world} onWorld=${setWorld} />
      </div>
      <${Outcome} place=${place} world=${world} />
    </div>
  </section>`;
}

/**
 * What is being typed stays, also while the log grows and with it the place.
 * @param {{ place: string }} props
 */
function Place({ place }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = place;
  }, [place]);
  const onChange = (/** @type {Event} */ { target }) => go("what-if", /** @type {HTMLInputElement} */ (target).value.trim());
  return html`<input class="place" aria-label="Moment: a sequence or a time" ref=${input} onChange=${onChange} />`;
}

/** @param {{ place: string, world: World, onWorld: (world: World) => void }} props */
function Without({ place, world, onWorld }) {
  const [before, setBefore] = useState(/** @type {number | undefined} */ (undefined));
  useEffect(() => setBefore(undefined), [place]);
  const from = before ?? (/^\d+$/.test(place) ? Number(place) + 1 : undefined);
  const listed = /** @type {import("../parts/resource.js").Resource<Newest>} */ (
    useResource("/api/newest", { before: from, limit: LISTED })
  );
  const toggle = (/** @type {number} */ seq) =>
    onWorld({
      ...world,
      without: world.without.includes(seq) ? world.without.filter((each) => each !== seq) : [...world.without, seq],
    });
  return html`<h3>Without these events</h3>
    <${Loaded} of=${listed}>
      ${(/** @type {Newest} */ newest) =>
        html`<ul class="left-out" hidden=${newest.events.length === 0}>
            ${newest.events.map(
              (event) =>
                html`<li key=${event.seq}>
                  <label>
                    <input type="checkbox" checked=${world.without.includes(event.seq)} onChange=${() => toggle(event.seq)} />
                    <span class=${`kind ${event.lane}`}>${event.seq}</span>
                    <span class="quiet">${clock(event.time).slice(0, 8)}</span> <bdi>${event.sentence}</bdi>
                  </label>
                </li>`,
            )}
          </ul>
          ${newest.events.length === 0 && html`<p class="notice">Nothing happened before that moment.</p>`}
          ${newest.searchedFrom !== null &&
          html`<button type="button" onClick=${() => setBefore(newest.searchedFrom ?? undefined)}>Earlier events</button>`}
          ${before !== undefined && html` <button type="button" onClick=${() => setBefore(undefined)}>The newest again</button>`}`}
    </${Loaded}>`;
}

/** @param {{ world: World, onWorld: (world: World) => void }} props */
function More({ world, onWorld }) {
  const [type, setType] = useState("note_pinned");
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const action = /** @type {Action} */ (type === "json" ? JSON.parse(text) : { type, data: dataOf(type, text) });
      onWorld({ ...world, actions: [...world.actions, action] });
      setText("");
      setError("");
    } catch (failure) {
      setError(`That is no JSON: ${/** @type {Error} */ (failure).message}`);
    }
  };
  const drop = (/** @type {number} */ place) =>
    onWorld({ ...world, actions: world.actions.filter((_action, each) => each !== place) });
  return html`<h3>With these actions more</h3>
    ${world.actions.length > 0 &&
    html`<ol>
      ${world.actions.map(
        (action, place) =>
          html`<li key=${place}>
            <code>${action.type}</code> <bdi>${String(action.data?.["note"] ?? JSON.stringify(action.data))}</bdi>
            ${" "}<button type="button" class="copy" aria-label=${`Drop action ${place + 1}`} onClick=${() => drop(place)}>drop</button>
          </li>`,
      )}
    </ol>`}
    <form class="more" onSubmit=${add}>
      <label>
        An editor${" "}<select value=${type} onChange=${(/** @type {Event} */ { target }) => setType(/** @type {HTMLSelectElement} */ (target).value)}>
          ${Object.entries(ACTIONS).map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}
          <option value="json">does (an action as JSON)</option>
        </select>
      </label>
      <input
        aria-label=${type === "json" ? "Action as JSON" : "Note's path"}
        placeholder=${type === "json" ? '{"type": "…", "data": {…}}' : "work/plan.md"}
        required
        value=${text}
        onInput=${(/** @type {Event} */ { target }) => setText(/** @type {HTMLInputElement} */ (target).value)}
      />
      <button>Add</button>
    </form>
    ${error && html`<p class="failure" role="alert">${error}</p>`}`;
}

/**
 * @param {string} type
 * @param {string} note
 */
const dataOf = (type, note) => (type === "temporary_tab_opened" ? { note, source: "navigation" } : { note });

/** @param {{ world: World, onWorld: (world: World) => void }} props */
function Tool({ world, onWorld }) {
  const [error, setError] = useState("");
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
    try {
      onWorld({ ...world, tool: String(fields.get("tool")).trim(), arguments: JSON.parse(String(fields.get("arguments")) || "{}") });
      setError("");
    } catch (failure) {
      setError(`The arguments are no JSON: ${/** @type {Error} */ (failure).message}`);
    }
  };
  return html`<h3>And then an agent asks</h3>
    <form class="more" onSubmit=${ask}>
      <label>Tool <input name="tool" size="24" list="what-if-tools" value=${world.tool} placeholder="get_workspace_context" /></label>
      <label>Arguments <input name="arguments" class="mono" placeholder="{}" /></label>
      <button>Ask in both worlds</button>
    </form>
    ${error && html`<p class="failure" role="alert">${error}</p>`}`;
}

/** @param {{ place: string, world: World }} props */
function Outcome({ place, world }) {
  const [found, setFound] = useState(/** @type {WhatIf | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const asked = JSON.stringify({ at: place, ...world });
  useEffect(() => {
    const aborting = new AbortController();
    post("/api/what-if", JSON.parse(asked), aborting.signal).then(
      (/** @type {WhatIf} */ answer) => {
        setFound(answer);
        setError(null);
      },
      (failure) => aborting.signal.aborted || setError(failure),
    );
    return () => aborting.abort();
  }, [asked]);
  if (error) return html`<div class="hypothetical"><${Failure} error=${error} /></div>`;
  if (found === null) return html`<${Waiting} />`;
  const isReal = world.without.length === 0 && world.actions.length === 0;
  return html`<div class="hypothetical" role="region" aria-label="The hypothetical workspace">
    <datalist id="what-if-tools">${found.tools.map((tool) => html`<option key=${tool} value=${tool} />`)}</datalist>
    <h3>${isReal ? "Still the real workspace" : html`What would differ <span class="badge warn">hypothetical</span>`}</h3>
    ${isReal && html`<p>Leave out an event, or add an action: here stands what it changes at event <a href=${link("at", found.seq)}>${found.seq}</a>.</p>`}
    ${!isReal && found.lines.length === 0 && html`<p>Nothing: the workspace would be the same.</p>`}
    <ul class="differences">
      ${found.lines.map((line, place) => html`<li key=${place}><bdi>${line}</bdi></li>`)}
    </ul>
    ${found.notAppliedCount > 0 &&
    html`<div class="warning">
      <p>${found.notAppliedCount} of the events that followed make no sense then, and were left out too:</p>
      <ul>
        ${found.notApplied.map(({ event, why }) => html`<li key=${event.seq}><a href=${link("at", event.seq)}>${event.seq}</a> <bdi>${event.sentence}</bdi>: ${why}</li>`)}
      </ul>
    </div>`}
    ${found.answers && html`<${Both} answers=${found.answers} />`}
    ${!isReal && html`<${Json} value=${found.hypothetical} label="hypothetical state" />`}
    <${Json} value=${found.real} label="real state" />
    <ul class="quiet">
      ${found.limits.map((limit) => html`<li key=${limit}>${limit}</li>`)}
    </ul>
    <${Command} line=${commandOf(place, world)} />
  </div>`;
}

/**
 * @param {string} place
 * @param {World} world
 */
function commandOf(place, { without, actions, tool, arguments: given }) {
  const options = [
    place && `--at ${quoted(place)}`,
    ...without.map((seq) => `--without ${seq}`),
    ...actions.map((action) => `--action ${quoted(JSON.stringify(action))}`),
    tool && `--tool ${quoted(tool)}`,
    tool && Object.keys(given).length > 0 && `--arguments ${quoted(JSON.stringify(given))}`,
  ];
  return ["workspaced log what-if", logArgument.value, ...options.filter(Boolean)].join(" ");
}

/** @param {{ answers: import("../types").Answers }} props */
function Both({ answers }) {
  return html`<h3>
      <code>${answers.tool}</code> answers
      ${answers.areSame ? html`<span class="badge good">the same</span>` : html`<span class="badge bad">something else</span>`}
    </h3>
    <${Json} value=${answers.hypothetical} label="in the hypothetical world" open />
    <${Json} value=${answers.real} label="in the real one" open />`;
}
