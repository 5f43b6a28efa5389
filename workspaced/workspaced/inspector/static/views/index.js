/** The views, in the order of their tabs. */

import { Coverage } from "./coverage.js";
import { Moment } from "./moment.js";
import { Prompts } from "./prompts.js";

/**
 * @typedef {object} View
 * @property {string} name the first part of its links
 * @property {string} title of its tab
 * @property {string} key of the keyboard that opens it
 * @property {(props: { parts: string[] }) => any} component gets the further parts of the link
 */

/** @type {View[]} */
export const VIEWS = [
  { name: "at", title: "Moment", key: "m", component: Moment },
  { name: "prompt", title: "Prompts", key: "p", component: Prompts },
  { name: "coverage", title: "Coverage", key: "o", component: Coverage },
];
