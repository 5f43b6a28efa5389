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

/** How far the log is folded. Moments among the folded events are answered at once. */
export interface Folding {
  readonly folded: number;
  readonly events: number;
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

/** While it lasts, nothing of what the user does is recorded, and agents are answered nothing. */
export interface Pause {
  readonly since: string;
  readonly until?: string | null;
}

export interface PinJson {
  readonly id: string;
  readonly pinnedAt: string;
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
