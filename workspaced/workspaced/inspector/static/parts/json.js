/** JSON for reading: what is long is folded, and all of it can be copied. */

import { html } from "../vendor/index.js";
import { Copy } from "./copy.js";

const FOLDED_CHARS = 2000;

/**
 * @param {{ value: unknown, open?: boolean, label?: string }} props
 */
export function Json({ value, open = false, label = "JSON" }) {
  const text = JSON.stringify(value, null, 2);
  return html`<details class="json" open=${open && text.length < FOLDED_CHARS}>
    <summary>${label}</summary>
    <${Copy} text=${text} />
    <pre tabindex="0">${text}</pre>
  </details>`;
}
