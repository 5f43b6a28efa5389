/** Values of the API in a component: asked for anew whenever path or parameters change. */

import { get } from "../api.js";
import { Waiting } from "./waiting.js";
import { html, useEffect, useRef, useState } from "../vendor/index.js";

/**
 * @template T
 * @typedef {{ data?: T, error?: Error, stale: boolean }} Resource `stale`: `data` is that of former parameters
 */

/**
 * @template T
 * @param {string | null} path null: nothing is asked for
 * @param {Record<string, string | number | boolean | undefined>} [parameters]
 * @param {unknown} [version] asks again when it changes
 * @returns {Resource<T>}
 */
export function useResource(path, parameters = {}, version = 0) {
  const [resource, set] = useState(/** @type {Resource<T>} */ ({ stale: true }));
  const asked = JSON.stringify([path, parameters]);
  const answered = useRef("");
  useEffect(() => {
    if (path === null) return undefined;
    const aborting = new AbortController();
    // What is only asked for anew, of a log that grew, is not out of date enough to be dimmed.
    if (answered.current !== asked) set((former) => ({ ...former, stale: true }));
    get(path, parameters, aborting.signal).then(
      (data) => {
        answered.current = asked;
        set({ data, stale: false });
      },
      (error) => aborting.signal.aborted || set({ error, stale: false }),
    );
    return () => aborting.abort();
  }, [asked, version]);
  return resource;
}

/**
 * What went wrong, and the next step.
 * @param {{ error: Error }} props
 */
export function Failure({ error }) {
  const { code, hint } = /** @type {import("../api.js").ApiError} */ (error);
  return html`<div class="failure" role="alert">
    <strong>${error.message}</strong>${hint ? html` <span>${hint}</span>` : null}${code ? html` <code>${code}</code>` : null}
  </div>`;
}

/**
 * Shows a resource once it is there. The former values stay, dimmed, while others are on their way.
 * @template T
 * @param {{ of: Resource<T>, children: (data: T) => any }} props
 */
export function Loaded({ of, children }) {
  if (of.error) return html`<${Failure} error=${of.error} />`;
  if (of.data === undefined) return html`<${Waiting} />`;
  return html`<div class=${of.stale ? "stale" : ""}>${children(of.data)}</div>`;
}
