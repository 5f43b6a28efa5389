// Generated from the repository's schemas/ by clients/typescript/scripts/generate.js; not edited by hand.

/** The log that the page looks at. */
export interface About {
  readonly name: string;
  readonly kind: string;
  readonly version: string;
  readonly events: number;
  readonly calls: number;
  readonly prompts: number;
  readonly first: number;
  readonly last: number;
  readonly firstTime: string;
  readonly lastTime: string;
  readonly vaults: readonly string[];
  readonly warnings: readonly string[];
  readonly mayChange: boolean;
}

export interface ActiveNoteJson {
  readonly id: string;
  readonly since: string;
}

/** One question of a call, without its answer. */
export interface Asked {
  readonly index: number;
  readonly question: string;
  readonly about: string;
  readonly bytes: number;
  readonly failed: boolean;
}

/** Whether this program gives the same answer to what the call read then. */
export interface Badge {
  readonly outcome: Outcome;
  readonly why: string;
  readonly differs: string | null;
  readonly difference: readonly string[];
  readonly tookUs: number;
}

/** A recorded call. */
export interface Call {
  readonly seq: number;
  readonly time: string;
  readonly tool: string;
  readonly caller: string;
  readonly ok: boolean;
  readonly code: string | null;
  readonly durationUs: number | null;
  readonly bytes: number | null;
  readonly tokens: number | null;
  readonly asOfSeq: number;
  readonly tailSeq: number;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly answer: string | null;
  readonly answerChars: number;
  readonly told: Told | null;
  readonly level: "all" | "names" | "none" | null;
  readonly withheld: number;
  readonly refused: string | null;
  readonly asked: readonly Asked[] | null;
  readonly why: string;
  readonly masked: string;
  readonly keepLonger: string;
}

/** One call of the list. */
export interface CallRow {
  readonly seq: number;
  readonly time: string;
  readonly caller: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly ok: boolean;
  readonly code: string | null;
  readonly bytes: number | null;
  readonly tokens: number | null;
  readonly durationUs: number | null;
  readonly kept: boolean;
  readonly masked: string;
}

/** Some calls, and where the next ones begin. */
export interface Calls {
  readonly calls: readonly CallRow[];
  readonly before: number | null;
}

/** One difference of the second state. Applied in this order, the changes lead from the first state to the second: remove each `removed`, bring the rest into the new `order`, set each `changed`, insert each `added` at its place, first places first. */
export interface Change {
  readonly field: string;
  readonly kind: "added" | "changed" | "order" | "removed";
  readonly id?: string | null;
  readonly at?: number | null;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** One change for people, as `workspaced replay --watch` prints it. */
export interface ChangeLine {
  readonly kind: "added" | "changed" | "order" | "removed";
  readonly text: string;
}

/** One event in few words. */
export interface EventRow {
  readonly seq: number;
  readonly time: string;
  readonly timeUs: number;
  readonly type: string;
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly source: string;
  readonly who: string;
  readonly sentence: string;
  readonly notes: readonly string[];
  readonly isFailed: boolean;
}

/** Events in their order. */
export interface Events {
  readonly events: readonly EventRow[];
  readonly next: number | null;
  readonly previous: number | null;
  readonly scanned: number;
}

/** One question of a call with its answer. */
export interface Exchanged {
  readonly question: string;
  readonly asked: unknown;
  readonly answer: unknown;
  readonly raised: Raised | null;
  readonly notes: readonly NoteRead[];
}

/** How far the log is folded. Moments among the folded events are answered at once. */
export interface Folding {
  readonly folded: number;
  readonly events: number;
}

/** The first event after which the predicate is true. */
export interface FoundEvent {
  readonly seq: number;
  readonly time: string;
  readonly type: string;
  readonly source: string;
  readonly words: string;
  readonly changes: readonly string[];
}

/** One lane's events. */
export interface LaneCounts {
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly total: number;
  readonly counts: readonly number[];
  readonly failed: readonly number[];
}

/** The workspace after an event. */
export interface Moment {
  readonly seq: number;
  readonly time: string;
  readonly event: unknown;
  readonly told: EventRow | null;
  readonly state: StateJson;
  readonly publishers: readonly ViewPublisher[];
  readonly changes: readonly Change[];
  readonly lines: readonly ChangeLine[];
}

/** A note as it was read. */
export interface NoteRead {
  readonly id: string;
  readonly text: string | null;
  readonly bytes: number;
  readonly why: string;
}

/** The result of verifying a call or a prompt. */
export type Outcome = "damaged" | "different" | "notRecorded" | "otherVersion" | "same";

/** How the second call differs from the first, as lines for people. An empty list: not at all. */
export interface Pair {
  readonly same: boolean;
  readonly call: readonly string[];
  readonly state: readonly string[];
  readonly inputs: readonly string[];
  readonly answer: readonly string[];
  readonly linesLeftOut: number;
}

/** While it lasts, nothing of what the user does is recorded, and agents are answered nothing. */
export interface Pause {
  readonly since: string;
  readonly until?: string | null;
}

export interface PinJson {
  readonly id: string;
  readonly pinnedAt: string;
}

/** The error that the View raised instead of an answer. `type` is the name of the error's class; for an error that is not a `WorkspacedError` it is `Exception`. */
export interface Raised {
  readonly type: string;
  readonly message: string;
  /** (default "") */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface RecentJson {
  readonly id: string;
  readonly at: string;
}

/** The inspector's search, as far as it is. */
export interface SearchShown {
  readonly phase: "done" | "failed" | "finding" | "none" | "shrinking" | "stopped";
  readonly expression: string;
  readonly vault: string | null;
  readonly eventsRead: number;
  readonly events: number;
  readonly found: FoundEvent | null;
  readonly given: number;
  readonly left: number;
  readonly asked: number;
  readonly story: readonly Step[];
  readonly showsRedacted: boolean;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

export interface Selection {
  readonly note: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly at: string;
  readonly text?: string | null;
  readonly textSha256?: string | null;
}

/** The state of one vault as `workspaced/state` and `workspaced replay --json` give it. */
export interface StateJson {
  readonly seq: number;
  readonly currentVaultId: string | null;
  readonly vaults: readonly VaultJson[];
  readonly activeNote: ActiveNoteJson | null;
  readonly activeTabId: string | null;
  readonly pinnedNotes: readonly PinJson[];
  readonly temporaryTabs: readonly TabJson[];
  readonly recentNotes: readonly RecentJson[];
  readonly selection: Selection | null;
  readonly archived: readonly string[];
  readonly lastUpdated: string | null;
  readonly sharing?: { readonly [name: string]: "all" | "names" | "none" };
  readonly volunteering?: { readonly [name: string]: "off" | "on" | "selection-off" };
  readonly paused?: Pause;
  readonly alsoAt?: readonly number[];
}

/** One event of a story. */
export interface Step {
  readonly seq: number;
  readonly origin: number | null;
  readonly time: string;
  readonly type: string;
  readonly source: string;
  readonly words: string;
  readonly changes: readonly string[];
}

export interface TabJson {
  readonly id: string;
  readonly noteId: string;
  readonly source: "history" | "navigation" | "search" | "wikilink";
  readonly openedAt: string;
  readonly lastAccessed: string;
}

/** Counts of events in bins of equal length. An event counts at the time that it has, also where the clock was set back. */
export interface Timeline {
  readonly beginUs: number;
  readonly endUs: number;
  readonly firstUs: number;
  readonly lastUs: number;
  readonly lanes: readonly LaneCounts[];
  readonly callsUnread: number;
}

/** What an agent was told without asking. */
export interface Told {
  readonly text: string | null;
  readonly session: string;
  readonly moment: string;
  readonly since: number | null;
}

/** What an expression gives at a moment. */
export interface Tried {
  readonly seq: number;
  readonly isTrue: boolean;
  readonly value: unknown;
  readonly trouble: string;
  readonly hint: string;
  readonly position: number | null;
}

export interface VaultJson {
  readonly id: string;
  readonly name: string;
  readonly path: string;
}

/** An editor or another source that shows its view of the current vault. */
export interface ViewPublisher {
  readonly source: string;
  readonly confidence: "inferred" | null;
  readonly isActive: boolean;
}

/** What an expression may be made of. */
export interface Vocabulary {
  readonly seq: number;
  readonly words: readonly Word[];
}

/** Something that can be put into an expression. */
export interface Word {
  readonly text: string;
  readonly kind: "field" | "function";
  readonly about: string;
  readonly values: readonly string[];
}
