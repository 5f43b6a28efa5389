/** What all views share: the log, and the moment that is looked at. */

import { computed, signal } from "./vendor/index.js";

/** @typedef {import("./types").About} About */

/** The log; null until it is open. */
export const about = signal(/** @type {About | null} */ (null));

/** The sequence or time of the moment that is looked at; empty: the end. */
export const at = signal("");

/** The path of what is inspected, as a command line names it. */
export const logArgument = computed(() => (about.value ? quoted(about.value.name) : ""));

/**
 * A text as a shell takes it for one word.
 * @param {string} text
 */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
