/**
 * Where the values of a JSON text stand, without decoding them: decoding and encoding again changes a text (`1.10`,
 * `-0`, `\u00e9`, a name that stands twice), so a change is made in the text itself, at these places.
 *
 * The text is valid JSON, `JSON.parse` has read it: what is skipped here is not checked again.
 */

/** The text is no JSON, or says two things at once; the request goes on as it came. */
export class Unreadable extends Error {}

/** A value in a text. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

const [BACKSLASH, COLON, COMMA, QUOTE] = ["\\", ":", ",", '"'].map((each) => each.charCodeAt(0));
const BLANKS = new Set(Array.from(" \t\r\n", (each) => each.charCodeAt(0)));
const OPENING = new Set(Array.from("[{", (each) => each.charCodeAt(0)));
const CLOSING = new Set(Array.from("]}", (each) => each.charCodeAt(0)));

/**
 * The values of an object, by name.
 *
 * @throws Unreadable: it is no object, or a name stands twice: who reads which one is not known.
 */
export function fieldsOf(text: string, { start }: Place): Map<string, Place> {
  const fields = new Map<string, Place>();
  let at = afterBlanks(text, start);
  if (text[at] !== "{") throw new Unreadable("there is no object");
  for (at = afterBlanks(text, at + 1); text[at] !== "}"; at = next(text, at)) {
    const nameEnd = valueEnd(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    if (fields.has(name)) throw new Unreadable(`the field ${JSON.stringify(name)} stands twice`);
    const place = placeOf(text, afterBlanks(text, nameEnd, COLON));
    fields.set(name, place);
    at = place.end;
  }
  return fields;
}

/**
 * The items of a list.
 *
 * @throws Unreadable: it is none.
 */
export function itemsOf(text: string, { start }: Place): Place[] {
  const items: Place[] = [];
  if (text[start] !== "[") throw new Unreadable("there is no list");
  for (let at = afterBlanks(text, start + 1); text[at] !== "]"; at = next(text, at)) {
    const place = placeOf(text, at);
    items.push(place);
    at = place.end;
  }
  return items;
}

function placeOf(text: string, start: number): Place {
  return { start, end: valueEnd(text, start) };
}

/** Where the value behind this one stands, or the end of what holds both. */
function next(text: string, end: number): number {
  return afterBlanks(text, end, COMMA);
}

/** Behind blanks, and behind one such sign among them. */
function afterBlanks(text: string, start: number, sign?: number): number {
  let at = start;
  while (BLANKS.has(text.charCodeAt(at))) at += 1;
  return sign !== undefined && text.charCodeAt(at) === sign ? afterBlanks(text, at + 1) : at;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = quoteEnd(text, at);
    else if (OPENING.has(unit)) depth += 1;
    else if (CLOSING.has(unit)) depth -= 1;
    else if (depth === 0) return scalarEnd(text, at);
    if (depth === 0) return at + 1;
  }
}

/** Where the quote is that ends a string. */
function quoteEnd(text: string, start: number): number {
  let at = start + 1;
  for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) at += unit === BACKSLASH ? 2 : 1;
  return at;
}

/** Of a number, `true`, `false` or `null`. */
function scalarEnd(text: string, start: number): number {
  let at = start;
  while (/[\w.+-]/.test(text.charAt(at))) at += 1;
  return at;
}
