/** Every bound of the publisher, in one place. Units are the last word of a name. */

/** Events within this time are one look at the editor. */
export const COALESCE_MS = 50;
/** A selection is told once it has not moved for this long. */
export const SELECTION_SETTLE_MS = 200;
/** Between tries to find or reach a daemon: doubled from the first to the last. */
export const RETRY_FIRST_MS = 50;
export const RETRY_MAX_MS = 10_000;
/** A connection that held this long begins with the first pause again when it breaks. */
export const STABLE_MS = 1_000;
/** Who pins a note hears after this if no daemon took it. */
export const PATIENCE_MS = 2_000;
/** A disk that does not say where a file lies keeps a view back for this long. */
export const PATHS_WAIT_MS = 1_000;
/** Questions to the disk at once; a disk that hangs holds as many threads of the editor's pool. */
export const PATHS_ASKED_MAX = 2;
/** Paths whose real path is remembered. */
export const PATHS_MAX = 2_000;
/** Tabs of the editor that are looked at, the last ones; of pins the first ones. */
export const LISTED_MAX = 500;
/** The daemon keeps no more of a vault. */
export const TABS_MAX = 10;
/** Notes remembered for having been active. */
export const RECENT_MAX = 50;
/** Of longer selections only the lines are told. */
export const SELECTION_CHARS_MAX = 65_536;
/** Pins, renames and deletions that wait for a daemon; the oldest go first. */
export const ACTIONS_MAX = 100;
/** Notes of a renamed folder that are told one by one; the daemon finds the rest by itself. */
export const RENAMED_NOTES_MAX = 1_000;
/** Actions in one request; two paths of 1,024 characters each stay within the request. */
export const BATCH_ACTIONS_MAX = 100;
/** As the daemon has it for a note. */
export const NOTE_CHARS_MAX = 1_024;
export const NAME_BYTES_MAX = 255;
