/** Which keys do what: `?` shows it, and a button. */

import { html, signal, useEffect, useRef } from "../vendor/index.js";

/** @type {[string, string][]} */
const KEYS = [
  ["← →", "moment: the event before, the next one; with Shift ten of them"],
  ["Home End", "moment: the log's first event, its last one"],
  ["+ - 0", "moment: zoom the timeline in, out, show all"],
  ["↑ ↓", "in a list of events or calls: the row before, the next one"],
  ["Enter", "in a list: open the row"],
  ["x", "in the list of calls: mark the row, to compare it with another one"],
  ["j k", "in a prompt: the next block, the one before"],
  ["[ ]", "in a prompt: the prompt before, the next one"],
  ["?", "these keys"],
];

const isShown = signal(false);

export const showKeys = () => {
  isShown.value = true;
};

/**
 * Whether a key belongs to a field, a dialog or the browser, and so is no key of the page.
 * @param {KeyboardEvent} event
 */
export const isTyped = ({ ctrlKey, metaKey, altKey, target }) =>
  ctrlKey || metaKey || altKey || (target instanceof Element && target.closest("input, select, textarea, dialog") !== null);

/** @param {{ views: { title: string, key: string }[] }} props */
export function KeysHelp({ views }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    if (isShown.value) dialog.current?.showModal();
  }, [isShown.value]);
  const close = () => dialog.current?.close();
  return html`<dialog ref=${dialog} class="keys" aria-labelledby="keys-title" onClose=${() => (isShown.value = false)}>
    <div class="dialog-head">
      <h2 id="keys-title">Keys</h2>
      <button type="button" onClick=${close}>Close</button>
    </div>
    <dl class="facts">
      ${[...views.map(({ title, key }) => [key, title]), ...KEYS].map(
        ([key, does]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${does}</dd>`,
      )}
    </dl>
  </dialog>`;
}
