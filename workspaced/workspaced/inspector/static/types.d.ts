// Generated from the repository's schemas/ by clients/typescript/scripts/generate.js; not edited by hand.

/** The log that the page looks at. */
export interface About {
  readonly name: string;
  readonly kind: string;
  readonly socket: string;
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

/** One client of the tools. */
export interface Agent {
  readonly client: string;
  readonly level: "all" | "names" | "none";
  readonly levelSeq: number | null;
  readonly volunteering: "off" | "on" | "selection-off";
  readonly volunteeringSeq: number | null;
  readonly isConnected: boolean | null;
  readonly asked: Asked;
  readonly told: Asked;
}

/** All agents at a moment. */
export interface Agents {
  readonly seq: number;
  readonly time: string;
  readonly defaultLevel: "all" | "names" | "none";
  readonly defaultVolunteering: "off" | "on" | "selection-off";
  readonly agents: readonly Agent[];
  readonly pause: PauseShown | null;
  readonly settings: readonly EventTold[];
}

/** What a tool answers in both worlds, from recordings. */
export interface Answers {
  readonly tool: string;
  readonly real: unknown;
  readonly hypothetical: unknown;
  readonly areSame: boolean;
}

/** Calls up to the moment. */
export interface Asked {
  readonly calls: number;
  readonly failed: number;
  readonly bytes: number;
  readonly tools: readonly ToolCount[];
  readonly latest: readonly CallShown[];
}

/** One call, or one time that something was told. */
export interface CallShown {
  readonly seq: number;
  readonly time: string;
  readonly what: string;
  readonly ok: boolean;
  readonly bytes: number;
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

/** Whether the daemon that writes the log is there. */
export interface DaemonLink {
  readonly connected: boolean;
  /** (default "") */
  readonly why?: string;
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

/** One event, in words and whole. */
export interface EventTold {
  readonly seq: number;
  readonly time: string;
  readonly type: string;
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly source: string;
  readonly agent: string | null;
  readonly notes: readonly string[];
  readonly sentence: string;
  readonly event: unknown;
}

/** Events in their order. */
export interface Events {
  readonly events: readonly EventRow[];
  readonly next: number | null;
  readonly previous: number | null;
  readonly scanned: number;
}

/** How far the log is folded. Moments among the folded events are answered at once. */
export interface Folding {
  readonly folded: number;
  readonly events: number;
}

/** The log grew by more than this stream shows. */
export interface Gap {
  readonly last: number;
}

/** The log has new events. */
export interface Grew {
  readonly last: number;
  readonly added: number;
  readonly events: readonly EventTold[];
}

/** One lane's events. */
export interface LaneCounts {
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly total: number;
  readonly counts: readonly number[];
  readonly failed: readonly number[];
}

/** What holds for the client now. */
export interface LevelSet {
  readonly client: string;
  readonly level: "all" | "names" | "none";
  readonly volunteering: "off" | "on" | "selection-off";
}

/** A note's line of life. */
export interface Life {
  readonly path: string;
  readonly now: string;
  readonly names: readonly string[];
  readonly vault: string;
  readonly traces: readonly Trace[];
  readonly notKept: number;
  readonly searchedFrom: number | null;
  readonly present: Present | null;
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

/** The newest events that were asked for, newest first. */
export interface Newest {
  readonly events: readonly EventTold[];
  readonly last: number;
  readonly searchedFrom: number | null;
}

/** An event that makes no sense in that world. */
export interface NotApplied {
  readonly event: EventTold;
  readonly why: string;
}

/** One note. */
export interface NoteNamed {
  readonly path: string;
  readonly events: number;
  readonly last: number;
}

/** The notes that fit, the last named first. */
export interface Notes {
  readonly notes: readonly NoteNamed[];
  readonly fitting: number;
  readonly read: number;
  readonly of: number;
}

/** The log is open, or another one is: the page reads everything anew. */
export interface Opened {
  readonly last: number;
  readonly grows: boolean;
}

/** While it lasts, nothing of what the user does is recorded, and agents are answered nothing. */
export interface Pause {
  readonly since: string;
  readonly until?: string | null;
}

/** The pause that lasts now; null: none. */
export interface PauseSet {
  readonly paused: Pause | null;
}

/** A pause that lasts at the moment. */
export interface PauseShown {
  readonly since: string;
  readonly until: string | null;
  readonly seq: number | null;
  readonly by: string;
}

export interface PinJson {
  readonly id: string;
  readonly pinnedAt: string;
}

/** What the daemon says of the note now, as `workspaced why`. */
export interface Present {
  readonly level: string;
  readonly withheld: boolean;
  readonly reasons: readonly Reason[];
  readonly clients: readonly Reach[];
}

/** What a client is shown of the note. */
export interface Reach {
  readonly client: string;
  readonly sharing: string;
  readonly shown: string;
  readonly unasked: boolean;
}

/** Why a note may go no further than it does. */
export interface Reason {
  readonly level: string;
  readonly kind: string;
  readonly detail: string;
}

export interface RecentJson {
  readonly id: string;
  readonly at: string;
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

/** A tool, and how often it was called. */
export interface ToolCount {
  readonly tool: string;
  readonly calls: number;
}

/** One thing that happened to the note. */
export interface Trace {
  readonly seq: number;
  readonly time: string;
  readonly kind: "asked" | "attached" | "cited" | "file" | "leftOut" | "looked" | "memory" | "navigation" | "prompt" | "sharing" | "told";
  readonly sentence: string;
  readonly agent: string | null;
  readonly revision: string | null;
  readonly bytes: number | null;
  readonly until: string | null;
  readonly layer: string | null;
  readonly tokens: number | null;
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

/** A world that never was, beside the real one. */
export interface WhatIf {
  readonly seq: number;
  readonly time: string;
  readonly real: StateJson;
  readonly hypothetical: StateJson;
  readonly changes: readonly Change[];
  readonly lines: readonly string[];
  readonly leftOut: readonly EventTold[];
  readonly added: readonly EventTold[];
  readonly notApplied: readonly NotApplied[];
  readonly notAppliedCount: number;
  readonly answers: Answers | null;
  readonly tools: readonly string[];
  readonly limits: readonly string[];
}
