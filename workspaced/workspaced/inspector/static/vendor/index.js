// All that the page takes of its libraries, under the names by which its modules know them. Charts alone stand apart,
// in uplot.js: whoever draws one waits for its script.

import htm from "./htm.js";
import { h } from "./preact.js";

export { Fragment, createContext, createRef, h, render } from "./preact.js";
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./hooks.js";
export {
  batch,
  computed,
  effect,
  signal,
  untracked,
  useComputed,
  useSignal,
  useSignalEffect,
} from "./signals.js";

/**
 * A template as nodes: html`<p class=${name}>${text}</p>`. What stands in `${}` becomes text nodes and attributes,
 * never markup. A template with several roots gives a list.
 */
export const html = htm.bind(h);
