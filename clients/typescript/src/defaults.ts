/** Fills in what answers of tools leave out because it is the default, so that who reads them need not know it. */

import { DEFAULTS } from "./defaults.generated.js";

/** The defaults in a value: those of an object's own fields, those in its fields, those in a list's items. */
export interface Defaults {
  readonly given?: Readonly<Record<string, unknown>>;
  readonly inner?: Readonly<Record<string, Defaults>>;
  readonly each?: Defaults;
}

type Fields = Record<string, unknown>;

/** Fills in the defaults of a success, in place. */
export function fillAnswer(tool: string, answer: unknown): void {
  const data = isObject(answer) && answer["success"] === true ? answer["data"] : undefined;
  if (!isObject(data)) return;
  const defaults = ("linked" in data ? DEFAULTS[`linked/${tool}`] : undefined) ?? DEFAULTS[tool];
  if (defaults !== undefined) fill(defaults, data);
}

function fill(defaults: Defaults, value: unknown): void {
  if (Array.isArray(value)) {
    if (defaults.each !== undefined) for (const each of value) fill(defaults.each, each);
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(defaults.inner ?? {})) fill(inner, value[name]);
    for (const [name, given] of Object.entries(defaults.given ?? {})) {
      if (!(name in value)) value[name] = structuredClone(given);
    }
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
