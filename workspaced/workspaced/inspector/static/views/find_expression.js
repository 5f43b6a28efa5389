/** The field in which an expression is written: completed over the state's fields and values, tried as it is written. */

import { get } from "../api.js";
import { Failure, useResource } from "../parts/resource.js";
import { link } from "../router.js";
import { at } from "../store.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/index.js";
import { completions } from "./find_completions.js";

/** @typedef {import("../types").Tried} Tried */
/** @typedef {import("../types").Vocabulary} Vocabulary */
/** @typedef {import("../types").Word} Word */
/** @typedef {import("./find_completions.js").Completion} Completion */

const TRY_MS = 150;

/** @param {{ text: string, vault: string, onText: (text: string) => void }} props */
export function Expression({ text, vault, onText }) {
  const moment = at.value || undefined;
  const vocabulary = /** @type {import("../parts/resource.js").Resource<Vocabulary>} */ (
    useResource("/api/search/words", { at: moment })
  );
  const words = vocabulary.data?.words ?? [];
  return html`
    <label for="expression">Expression, <a href="https://jmespath.org" rel="noreferrer">JMESPath</a> over the state</label>
    <${Field} text=${text} words=${words} onText=${onText} />
    ${vocabulary.error && html`<${Failure} error=${vocabulary.error} />`}
    <${Trial} text=${text} vault=${vault} moment=${moment} />
    ${text.trim() === "" && html`<${Examples} words=${words} onText=${onText} />`}
  `;
}

/** @param {{ text: string, words: Word[], onText: (text: string) => void }} props */
function Field({ text, words, onText }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const putCursor = useRef(/** @type {number | null} */ (null));
  const [place, setPlace] = useState(/** @type {{ cursor: number, isAsked: boolean } | null} */ (null));
  const [chosen, setChosen] = useState(-1);
  // Computed as it is drawn: the words may come after the first letters.
  const offered = place === null ? [] : completions(text, place.cursor, words, place.isAsked);
  const close = () => (setPlace(null), setChosen(-1));
  const offer = (/** @type {number} */ cursor, isAsked = false) => (setPlace({ cursor, isAsked }), setChosen(-1));
  const take = (/** @type {Completion} */ completion) => {
    const field = /** @type {HTMLInputElement} */ (input.current);
    const end = field.selectionStart ?? text.length;
    const before = text.slice(0, completion.start) + completion.text;
    onText(before + text.slice(end));
    close();
    putCursor.current = before.length;
  };
  // The cursor belongs behind what was put in, as soon as the field has the new text.
  useLayoutEffect(() => {
    if (putCursor.current !== null) input.current?.setSelectionRange(putCursor.current, putCursor.current);
    putCursor.current = null;
  }, [text]);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const field = /** @type {HTMLInputElement} */ (input.current);
    if (event.key === " " && event.ctrlKey) offer(field.selectionStart ?? 0, true);
    else if (event.key === "Escape" && offered.length) close();
    else if (event.key === "ArrowDown" && offered.length) setChosen((chosen + 1) % offered.length);
    else if (event.key === "ArrowUp" && offered.length) setChosen((chosen <= 0 ? offered.length : chosen) - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && offered[chosen]) take(offered[chosen]);
    else if (event.key === "Enter") return close(); // and the form begins the search
    else return;
    event.preventDefault();
  };
  return html`<div class="expression">
    <input
      id="expression"
      name="expression"
      ref=${input}
      value=${text}
      spellcheck=${false}
      autocomplete="off"
      autocapitalize="off"
      class="mono"
      role="combobox"
      aria-autocomplete="list"
      aria-expanded=${offered.length > 0}
      aria-controls="completions"
      aria-activedescendant=${chosen >= 0 ? `completion-${chosen}` : null}
      aria-describedby="trial"
      onInput=${(/** @type {any} */ event) => {
        onText(event.target.value);
        offer(event.target.selectionStart);
      }}
      onKeyDown=${onKeyDown}
      onBlur=${close}
    />
    <ul id="completions" role="listbox" aria-label="Completions" hidden=${offered.length === 0}>
      ${offered.map(
        (each, index) =>
          html`<li
            key=${each.text}
            id="completion-${index}"
            role="option"
            aria-selected=${index === chosen}
            onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), take(each))}
          >
            <code>${each.text}</code> <span class="quiet">${each.about}</span>
          </li>`,
      )}
    </ul>
  </div>`;
}

/**
 * What the expression gives at the moment that is looked at, or what is wrong with it, and where.
 * @param {{ text: string, vault: string, moment?: string }} props
 */
function Trial({ text, vault, moment }) {
  const [tried, setTried] = useState(/** @type {Tried | null} */ (null));
  useEffect(() => {
    if (text.trim() === "") return setTried(null);
    const aborting = new AbortController();
    const parameters = { expression: text, vault: vault || undefined, at: moment };
    const waiting = setTimeout(
      () => get("/api/search/tried", parameters, aborting.signal).then(setTried, () => undefined),
      TRY_MS,
    );
    return () => {
      clearTimeout(waiting);
      aborting.abort();
    };
  }, [text, vault, moment]);
  return html`<div id="trial" class="trial" role="status">${tried && html`<${Verdict} tried=${tried} text=${text} />`}</div>`;
}

/** @param {{ tried: Tried, text: string }} props */
function Verdict({ tried, text }) {
  const where = html`after <a href=${link("at", tried.seq)}>event ${tried.seq}</a>`;
  if (tried.trouble === "") {
    return html`<p>
      <span class="badge ${tried.isTrue ? "good" : ""}">${tried.isTrue ? "true" : "not true"}</span> ${where}: its value is${" "}
      <code>${shortened(JSON.stringify(tried.value))}</code>
    </p>`;
  }
  return html`${tried.position !== null &&
    html`<pre class="place" aria-hidden="true">${`${text}\n${" ".repeat(tried.position)}^`}</pre>`}
    <p>
      <span class="badge bad">${tried.position === null ? "not evaluated" : `at character ${tried.position + 1}`}</span>${" "}
      ${tried.trouble} <span class="quiet">${tried.hint}</span>
    </p>`;
}

/** @param {string} text */
const shortened = (text) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

/** @param {{ words: Word[], onText: (text: string) => void }} props */
function Examples({ words, onText }) {
  const note = words.find((each) => each.text === "recentNotes[].id")?.values[0] ?? "'plan.md'";
  const examples = [
    [`activeNote.id == ${note}`, "somebody looks at the note"],
    [`contains(pinnedNotes[].id, ${note})`, "the note is pinned"],
    ["length(temporaryTabs) > `3`", "more than three tabs"],
    ["!activeNote && pinnedNotes", "pins, and no note that is looked at"],
  ];
  return html`<p class="quiet">For example:</p>
    <ul class="examples">
      ${examples.map(
        ([example, means]) =>
          html`<li key=${example}>
            <button type="button" class="mono" onClick=${() => onText(example ?? "")}>${example}</button> <span class="quiet">${means}</span>
          </li>`,
      )}
    </ul>`;
}
