/** What an expression can go on with at the cursor: fields, the values of a field, functions. Pure. */

/** @typedef {import("../types").Word} Word */

/**
 * @typedef {object} Completion
 * @property {string} text
 * @property {string} about
 * @property {number} start where the text begins that it replaces, up to the cursor
 */

const OFFERED_MAX = 12;
const NAME = /[A-Za-z_][\w.[\]]*$/;
const LIST_OF_FILTER = /([A-Za-z_]\w*)\[\?[^\]]*$/;
const VALUE_OF = /([A-Za-z_][\w.[\]*]*)\s*(?:==|!=|<=|>=|<|>|,)\s*(['`][^'`]*)?$/;

/** Where a name or a function has to follow. */
const OPERAND = /[(!?&|]\s*$/;

/**
 * @param {string} text
 * @param {number} cursor
 * @param {Word[]} words
 * @param {boolean} isAsked whether somebody asked what can stand here, though nothing is begun
 * @returns {Completion[]} the likeliest first
 */
export function completions(text, cursor, words, isAsked) {
  const before = text.slice(0, cursor);
  const list = LIST_OF_FILTER.exec(before)?.[1];
  const known = list === undefined ? words : inEntriesOf(list, words);
  const compared = VALUE_OF.exec(before);
  if (compared !== null) {
    const [, field = "", begun = ""] = compared;
    return valuesOf(field, known)
      .filter((value) => holds(value, begun.slice(1)))
      .map((value) => ({ text: value, about: `a value of ${field}`, start: cursor - begun.length }))
      .slice(0, OFFERED_MAX);
  }
  if ((before.match(/'/g) ?? []).length % 2 === 1) return [];
  const begun = NAME.exec(before)?.[0] ?? "";
  if (begun === "" && !isAsked && !OPERAND.test(before)) return [];
  const fitting = known.filter((word) => holds(word.text, begun) && word.text !== begun);
  const score = (/** @type {Word} */ word) => (lower(word.text).startsWith(lower(begun)) ? 0 : 1);
  return fitting
    .sort((one, other) => score(one) - score(other))
    .map((word) => ({ text: word.text, about: word.about, start: cursor - begun.length }))
    .slice(0, OFFERED_MAX);
}

/**
 * The words of a filter such as `pinnedNotes[?id == `: the fields of an entry, by their names alone, and functions.
 * @param {string} list
 * @param {Word[]} words
 * @returns {Word[]}
 */
function inEntriesOf(list, words) {
  const entry = `${list}[].`;
  return words.flatMap((word) => {
    if (word.kind === "function") return [word];
    return word.text.startsWith(entry) ? [{ ...word, text: word.text.slice(entry.length) }] : [];
  });
}

/**
 * @param {string} field
 * @param {Word[]} words
 */
function valuesOf(field, words) {
  const plain = field.replaceAll("[*]", "[]");
  return words.find((word) => word.text === plain)?.values ?? [];
}

/** @param {string} text @param {string} part */
const holds = (text, part) => lower(text).includes(lower(part));

/** @param {string} text */
const lower = (text) => text.toLowerCase();
