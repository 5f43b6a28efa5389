/** What if a note of a prompt had been another one: what the model would have been shown, and how to ask models. */

import { post } from "../api.js";
import { Command } from "../parts/copy.js";
import { Differences } from "../parts/differences.js";
import { Failure } from "../parts/resource.js";
import { Waiting } from "../parts/waiting.js";
import { logArgument, quoted } from "../store.js";
import { html, useEffect, useState } from "../vendor/index.js";

/** @typedef {import("../types").Supposed} Found */
/** @typedef {Record<string, string | null>} Notes */

/** @param {{ seq: number }} props */
export function SupposedOf({ seq }) {
  const [notes, setNotes] = useState(/** @type {Notes} */ ({}));
  const [chosen, setChosen] = useState("");
  const [typed, setTyped] = useState(/** @type {string | null} */ (null)); // else an answer that comes meanwhile undoes it
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const asked = JSON.stringify({ notes });
  useEffect(() => {
    const aborting = new AbortController();
    post(`/api/prompts/${seq}/supposed`, JSON.parse(asked), aborting.signal).then(
      (/** @type {Found} */ answer) => {
        setFound(answer);
        setError(null);
      },
      (failure) => aborting.signal.aborted || setError(failure),
    );
    return () => aborting.abort();
  }, [seq, asked]);
  if (found === null) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} />`;
  const names = [...new Set([...Object.keys(found.notes), ...Object.keys(notes)])];
  const note = names.includes(chosen) ? chosen : names[0] || "";
  const set = (/** @type {string | null | undefined} */ text) => {
    const { [note]: _former, ...others } = notes;
    // Of a note that the prompt did not show, `found` has no text: that it was not there is as it was.
    setNotes(text === undefined || (text ?? undefined) === found.notes[note] ? others : { ...others, [note]: text });
  };
  const attach = (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const path = String(new FormData(form).get("path")).trim();
    if (!names.includes(path)) setNotes({ ...notes, [path]: "" });
    setChosen(path);
    form.reset();
  };
  return html`<section aria-labelledby="supposed-title">
    <h3 id="supposed-title">What if a note had been another one <span class="badge warn">hypothetical</span></h3>
    <form class="more">
      <label>
        <span>The note</span>${" "}<select aria-label="Which note" value=${note} onChange=${(/** @type {Event} */ { target }) => setChosen(/** @type {HTMLSelectElement} */ (target).value)}>
          ${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>
      </label>
      <button type="button" onClick=${() => set(null)}>was not there</button>
      <button type="button" onClick=${() => set(undefined)}>was as it was</button>
    </form>
    <form class="more" onSubmit=${attach}>
      <label>Another note, as if attached <input name="path" required placeholder="work/plan.md" /></label> <button>Attach</button>
    </form>
    <textarea
      class="supposed"
      rows="12"
      aria-label="The note's text"
      disabled=${notes[note] === null || note === ""}
      value=${typed ?? (notes[note] === undefined ? found.notes[note] : notes[note]) ?? ""}
      onInput=${(/** @type {Event} */ { target }) => setTyped(/** @type {HTMLTextAreaElement} */ (target).value)}
      onChange=${(/** @type {Event} */ { target }) => {
        set(/** @type {HTMLTextAreaElement} */ (target).value);
        setTyped(null);
      }}
    ></textarea>
    ${error
      ? html`<${Failure} error=${error} />`
      : found.changes.length > 0
      ? html`<${Differences} lines=${found.changes} left="the prompt" right="as it would be" />`
      : html`<p class="quiet">The prompt is as it was. Write into a note what it should have said.</p>`}
    <p class="quiet">What models would answer; write what you changed into a file first:</p>
    <${Command} line=${commandOf(seq, notes)} />
  </section>`;
}

/**
 * @param {number} seq
 * @param {Notes} notes
 */
function commandOf(seq, notes) {
  const options = Object.entries(notes).map(([note, text]) =>
    text === null ? `--without ${quoted(note)}` : `--with ${quoted(`${note}=${note.split("/").at(-1)}`)}`,
  );
  return [`workspaced replay ${logArgument.value} --prompt ${seq}`, ...options, '--model NAME --base-url "$OPENAI_BASE_URL"'].join(" ");
}
