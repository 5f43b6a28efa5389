/** The views, in the order of their tabs. */

import { AgentsView } from "./agents.js";
import { Calls } from "./calls.js";
import { FindingsView } from "./findings.js";
import { Moment } from "./moment.js";
import { Prompts } from "./prompts.js";
import { Texts } from "./texts.js";
import { Why } from "./why.js";

/**
 * @typedef {object} View
 * @property {string} name the first part of its links
 * @property {string} title of its tab
 * @property {string} key of the keyboard that opens it
 * @property {(props: { parts: string[] }) => any} component gets the further parts of the link
 */

/** @type {View[]} */
export const VIEWS = [
  { name: "findings", title: "Findings", key: "n", component: FindingsView },
  { name: "at", title: "Moment", key: "m", component: Moment },
  { name: "text", title: "Search", key: "s", component: Texts },
  { name: "call", title: "Calls", key: "c", component: Calls },
  { name: "prompt", title: "Prompts", key: "p", component: Prompts },
  { name: "agents", title: "Agents", key: "a", component: AgentsView },
  { name: "note", title: "Why", key: "w", component: Why },
];
