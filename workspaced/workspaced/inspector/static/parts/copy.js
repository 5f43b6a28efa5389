/** A button that copies a text, such as the command line that gives the same as a view. */

import { html, useState } from "../vendor/index.js";

const SHOWN_MS = 1500;

/**
 * @param {{ text: string, label?: string }} props `label` says what is copied
 */
export function Copy({ text, label = "copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return html`<button type="button" class="copy" title=${text} onClick=${copy}>${done ? "copied" : label}</button>`;
}

/**
 * A command line, shown and copyable.
 * @param {{ line: string }} props
 */
export const Command = ({ line }) =>
  html`<p class="command"><code>${line}</code> <${Copy} text=${line} label="copy" /></p>`;
