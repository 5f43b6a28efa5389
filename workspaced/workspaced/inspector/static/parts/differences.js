/** A unified diff for reading: side by side where there is room, else line below line. */

import { html, useEffect, useState } from "../vendor/index.js";

const WIDE = "(min-width: 800px)";

/**
 * @typedef {object} Row
 * @property {string} [place] of a part: the lines that it shows
 * @property {string | null} [left] null: nothing stands there
 * @property {string | null} [right]
 */

/**
 * @param {object} props
 * @param {string[]} props.lines of a unified diff, with its two lines of labels
 * @param {string} props.left what the removed lines are of
 * @param {string} props.right
 */
export function Differences({ lines, left, right }) {
  const isWide = useWide();
  const shown = lines.slice(2);
  if (!isWide) return html`<${Unified} lines=${shown} left=${left} right=${right} />`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${left} beside ${right}">
    <table class="side-by-side">
      <thead><tr><th scope="col">${left}</th><th scope="col">${right}</th></tr></thead>
      <tbody>${rows(shown).map((row, at) => html`<${Side} key=${at} row=${row} />`)}</tbody>
    </table>
  </div>`;
}

/** @param {{ row: Row }} props */
function Side({ row }) {
  if (row.place !== undefined) return html`<tr><td colspan="2" class="place">${row.place}</td></tr>`;
  const same = row.left === row.right;
  return html`<tr>
    <td class=${same || row.left === null ? "" : "removed"}>${sign(row.left, same ? " " : "-")}</td>
    <td class=${same || row.right === null ? "" : "added"}>${sign(row.right, same ? " " : "+")}</td>
  </tr>`;
}

/**
 * @param {string | null | undefined} text
 * @param {string} mark
 */
const sign = (text, mark) => (text === null || text === undefined ? "" : `${mark} ${text}`);

/** @param {{ lines: string[], left: string, right: string }} props */
const Unified = ({ lines, left, right }) =>
  html`<p class="quiet">− ${left}, + ${right}</p>
    <pre class="diff" tabindex="0">
${lines.map((line, at) => html`<span key=${at} class=${kindOf(line)}>${line + "\n"}</span>`)}</pre
    >`;

/** @param {string} line */
const kindOf = (line) => (line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "");

/**
 * Removed and added lines beside each other, in the order of the diff.
 * @param {string[]} lines
 * @returns {Row[]}
 */
export function rows(lines) {
  /** @type {Row[]} */
  const made = [];
  /** @type {string[]} */
  let removed = [];
  /** @type {string[]} */
  let added = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      made.push({ left: removed[at] ?? null, right: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith("-")) removed.push(text);
    else if (line.startsWith("+")) added.push(text);
    else {
      flush();
      made.push(line.startsWith("@@") ? { place: line } : { left: text, right: text });
    }
  }
  flush();
  return made;
}

function useWide() {
  const [isWide, setWide] = useState(matchMedia(WIDE).matches);
  useEffect(() => {
    const query = matchMedia(WIDE);
    const look = () => setWide(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isWide;
}
