/** Find and shrink: `#/find` or `#/find/EXPRESSION`. Where a predicate becomes true, and the few events that lead there. */

import { get, post } from "../api.js";
import { Command } from "../parts/copy.js";
import { count } from "../parts/format.js";
import { Failure } from "../parts/resource.js";
import { replace } from "../router.js";
import { about, logArgument, quoted } from "../store.js";
import { html, useEffect, useState } from "../vendor/index.js";
import { Expression } from "./find_expression.js";
import { Found } from "./find_result.js";

/** @typedef {import("../types").SearchShown} Search */

const LOOK_MS = 250;

/** @param {{ parts: string[] }} props */
export function Find({ parts }) {
  const [text, setText] = useState(parts[0] ?? "");
  const [vault, setVault] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [search, setSearch] = useSearch(setError);
  const isRunning = search?.phase === "finding" || search?.phase === "shrinking";

  useEffect(() => {
    if (parts[0] !== undefined) setText(parts[0]);
  }, [parts[0]]);

  const begin = (/** @type {any} */ event) => {
    event.preventDefault();
    // What stands in the field now: it may be newer than `text`.
    const expression = event.currentTarget.elements.expression.value;
    setText(expression);
    setError(null);
    replace("find", expression);
    post("/api/search", vault ? { expression, vault } : { expression }).then(setSearch, setError);
  };
  const end = () => post("/api/search/stop", {}).then(setSearch, setError);

  return html`<section aria-labelledby="find-title">
    <h2 id="find-title">Find and shrink</h2>
    <p class="quiet">
      Finds the first event after which an expression over the state is true, then leaves out every event that does not
      matter for it. It works on a copy: the log is not changed.
    </p>
    <form onSubmit=${begin}>
      <${Expression} text=${text} vault=${vault} onText=${setText} />
      <p class="buttons">
        <${VaultChoice} vault=${vault} onVault=${setVault} />
        <button type="submit" disabled=${isRunning}>Find</button>
        ${isRunning && html`<button type="button" onClick=${end}>Stop</button>`}
      </p>
    </form>
    ${error && html`<${Failure} error=${error} />`}
    ${search && search.phase !== "none" && html`<${Progress} search=${search} /><${Found} search=${search} />`}
    ${text.trim() !== "" && html`<${Commands} text=${text} vault=${vault} />`}
  </section>`;
}

/**
 * The inspector's search, asked for again and again while it runs.
 * @param {(error: Error) => void} onError
 * @returns {[Search | null, (search: Search) => void]}
 */
function useSearch(onError) {
  const [search, set] = useState(/** @type {Search | null} */ (null));
  const isRunning = search?.phase === "finding" || search?.phase === "shrinking";
  useEffect(() => {
    if (search !== null && !isRunning) return undefined;
    const aborting = new AbortController();
    const look = () =>
      get("/api/search", {}, aborting.signal).then(set, (error) => aborting.signal.aborted || onError(error));
    const waiting = setTimeout(look, search === null ? 0 : LOOK_MS);
    return () => {
      clearTimeout(waiting);
      aborting.abort();
    };
  }, [search]);
  return [search, set];
}

/** @param {{ vault: string, onVault: (vault: string) => void }} props */
function VaultChoice({ vault, onVault }) {
  const vaults = about.value?.vaults ?? [];
  if (vaults.length < 2) return null;
  return html`<label>
    of vault${" "}
    <select value=${vault} onChange=${(/** @type {any} */ event) => onVault(event.target.value)}>
      <option value="">the current one</option>
      ${vaults.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
    </select>
  </label>`;
}

/** @param {{ search: Search }} props */
function Progress({ search }) {
  if (search.phase === "finding") {
    return html`<p role="status">
      <progress max=${search.events || 1} value=${search.eventsRead} aria-label="events read"></progress>${" "}
      read ${count(search.eventsRead, "event")} of ${count(search.events, "event")}
    </p>`;
  }
  if (search.phase === "shrinking") {
    return html`<p role="status">
      <progress max=${search.given || 1} value=${search.given - search.left} aria-label="events left out"></progress>${" "}
      ${count(search.left, "event")} of ${count(search.given, "event")} left, asked ${count(search.asked, "time")}
    </p>`;
  }
  if (search.phase === "failed") {
    return html`<div class="failure" role="alert">
      <strong>${search.message}</strong> ${search.hint} <code>${search.code}</code>
    </div>`;
  }
  if (search.phase === "stopped") {
    return html`<p class="warning" role="status">Stopped early${search.found ? ": fewer events may lead there too." : "."}</p>`;
  }
  return null;
}

/** @param {{ text: string, vault: string }} props */
function Commands({ text, vault }) {
  const options = `--when ${quoted(text)}${vault ? ` --of-vault ${quoted(vault)}` : ""}`;
  return html`<${Command} line=${`workspaced log find ${logArgument.value} ${options}`} />
    <${Command} line=${`workspaced log shrink ${logArgument.value} ${options} -o few.jsonl`} />`;
}
