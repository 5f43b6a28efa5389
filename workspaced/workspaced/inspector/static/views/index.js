/** The views, in the order of their tabs. */

import { Calls } from "./calls.js";
import { Find } from "./find.js";
import { Moment } from "./moment.js";

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
  { name: "call", title: "Calls", key: "c", component: Calls },
  { name: "find", title: "Find and shrink", key: "f", component: Find },
];
