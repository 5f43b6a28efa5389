/** A prompt as a bar: its layers in the order sent, in proportion to their tokens, by what a cache can serve. */

import { html } from "../vendor/index.js";
import { tokens } from "./format.js";

/**
 * @typedef {import("../types").LayerBar} LayerBar
 * @typedef {import("../types").CacheHint} CacheHint
 * @typedef {"cached" | "new" | "rewritten"} Reuse
 */

/** The short name of each layer, and what it is. */
export const LAYERS = /** @type {const} */ ({
  L1_SYSTEM: { short: "L1", long: "system prompt" },
  L2_PREVIOUS: { short: "L2", long: "library" },
  L4_STRIP: { short: "L4", long: "earlier turns" },
  L3_TURN: { short: "L3", long: "this turn's context" },
  L5_USER: { short: "L5", long: "the user's words" },
});

/** What each kind of reuse means. */
export const REUSE = /** @type {const} */ ({
  cached: "a cache can serve it",
  new: "the prompt before did not have it",
  rewritten: "sent before, but read again: something above it changed",
});

const KINDS = /** @type {Reuse[]} */ (["cached", "rewritten", "new"]);
/** A narrower part of the bar has no room for its name. */
const NAMED_SHARE = 0.05;

/** Marks of providers, in words. */
export const MARKS = /** @type {Record<string, string>} */ ({
  L1_SYSTEM: "after L1",
  L2_PREVIOUS: "after L2",
  history: "after the earlier turns",
  previous: "where the request before ended",
  last: "at the end",
});

/**
 * @param {object} props
 * @param {readonly LayerBar[]} props.layers
 * @param {number} props.toolTokens the tools' definitions, which stand first
 * @param {Reuse | null} props.tools
 * @param {number} props.of the tokens that the whole width stands for
 * @param {readonly CacheHint[]} [props.marks]
 * @param {(layer: string) => void} [props.onLayer]
 */
export function PromptBar({ layers, toolTokens, tools, of, marks = [], onLayer }) {
  const all = toolTokens + layers.reduce((sum, layer) => sum + layer.tokens, 0);
  const label = [
    toolTokens ? `tools ${tokens(toolTokens)}` : "",
    ...layers.filter((layer) => layer.tokens).map((layer) => `${LAYERS[layer.layer].short} ${spoken(layer)}`),
  ];
  return html`<div class="prompt-bar" role="img" aria-label=${label.filter(Boolean).join("; ")}>
    <div class="prompt-bar-layers" style=${{ width: percent(all, of) }}>
      ${toolTokens > 0 &&
      html`<${Part} name="T" share=${toolTokens / of} width=${toolTokens} kinds=${[[tools ?? "new", toolTokens]]} />`}
      ${layers
        .filter((layer) => layer.tokens > 0)
        .map(
          (layer) =>
            html`<${Part}
              key=${layer.layer}
              name=${LAYERS[layer.layer].short}
              share=${layer.tokens / of}
              width=${layer.tokens}
              kinds=${KINDS.map((kind) => [kind, layer.reuse[kind]])}
              onClick=${onLayer && (() => onLayer(layer.layer))}
            />`,
        )}
    </div>
    ${marks.map(
      (mark) =>
        html`<span
          key=${mark.after}
          class="prompt-bar-mark"
          title=${`${MARKS[mark.after] ?? mark.after}: ${tokens(mark.tokens)}`}
          style=${{ left: percent(Math.min(mark.tokens, of), of) }}
        ></span>`,
    )}
  </div>`;
}

/**
 * @param {object} props
 * @param {string} props.name
 * @param {number} props.share of the whole width
 * @param {number} props.width in tokens
 * @param {[Reuse, number][]} props.kinds
 * @param {() => void} [props.onClick]
 */
function Part({ name, share, width, kinds, onClick }) {
  return html`<span class="prompt-bar-part" style=${{ flexGrow: width }} title=${`${name}: ${tokens(width)}`} onClick=${onClick}>
    ${kinds
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => html`<span key=${kind} class="reuse ${kind}" style=${{ flexGrow: count }}></span>`)}
    ${share >= NAMED_SHARE && html`<span class="prompt-bar-name">${name}</span>`}
  </span>`;
}

/** @param {LayerBar} layer */
const spoken = (layer) =>
  KINDS.filter((kind) => layer.reuse[kind])
    .map((kind) => `${tokens(layer.reuse[kind])} ${kind}`)
    .join(", ");

/**
 * @param {number} part
 * @param {number} whole
 */
const percent = (part, whole) => `${whole ? (100 * part) / whole : 0}%`;

/**
 * What the colours, hatchings and names of the bars mean.
 * @param {{ marks?: boolean, tools?: boolean }} props which of them the bars have
 */
export const Legend = ({ marks = false, tools = false }) =>
  html`<ul class="legend">
    ${KINDS.map((kind) => html`<li key=${kind}><span class="reuse ${kind}"></span><b>${kind}</b>: ${REUSE[kind]}</li>`)}
    <li>
      ${tools ? "T definitions of tools, " : ""}${Object.values(LAYERS)
        .map(({ short, long }) => `${short} ${long}`)
        .join(", ")}
    </li>
    ${marks ? html`<li><span class="legend-mark"></span><b>mark</b>: a provider may be asked to keep what stands before it</li>` : null}
  </ul>`;

/** @param {{ kind: Reuse | null }} props */
export const ReuseName = ({ kind }) =>
  kind === null
    ? html`<span class="quiet">none</span>`
    : html`<span class="reuse-name"><span class="reuse ${kind}"></span>${kind}</span>`;
