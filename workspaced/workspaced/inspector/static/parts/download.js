/** A button that saves a file of the API. */

import { file } from "../api.js";
import { html, useState } from "../vendor/index.js";
import { Failure } from "./resource.js";

/** A browser may read the content a moment after the click. */
const KEPT_MS = 10_000;

/**
 * @param {object} props
 * @param {string} props.path
 * @param {string} props.label
 */
export function Download({ path, label }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const save = async () => {
    setError(null);
    try {
      const { name, content } = await file(path);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(content);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
    } catch (failure) {
      setError(/** @type {Error} */ (failure));
    }
  };
  return html`<button type="button" onClick=${save}>${label}</button>
    ${error && html`<${Failure} error=${error} />`}`;
}
