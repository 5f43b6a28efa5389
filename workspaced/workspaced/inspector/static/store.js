/** What all views share: the log, and the moment that is looked at. */

import { computed, signal } from "./vendor/index.js";

/** @typedef {import("./types").About} About */

/** The log; null until it is open. */
export const about = signal(/** @type {About | null} */ (null));

/** How much of the log is verified, while it opens; null: unknown, or it is open. */
export const opening = signal(/** @type {import("./types").Opening | null} */ (null));

/** The sequence or time of the moment that is looked at; empty: the end. */
export const at = signal("");

/** Counts how often the log grew: what shows its end asks again when this changes. */
export const version = signal(0);

/** Whether the daemon that writes the log is there; null: unknown, or none writes it. */
export const daemon = signal(/** @type {import("./types").DaemonLink | null} */ (null));

/** The path of what is inspected, as a command line names it. */
export const logArgument = computed(() => (about.value ? quoted(about.value.name) : ""));

/**
 * A text as a shell takes it for one word.
 * @param {string} text
 */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
