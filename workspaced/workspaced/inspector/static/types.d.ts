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

/** A block with its text. */
export interface BlockShown {
  readonly block: ShownBlock;
  readonly title: string;
  readonly mtime: string | null;
  readonly text: string | null;
  readonly chars: number;
  readonly nextOffset: number | null;
  readonly notKept: string;
  readonly since: BlockSince | null;
}

/** The first prompt that showed the same thing without a gap up to this one. */
export interface BlockSince {
  readonly seq: number;
  readonly time: string;
  readonly message: string;
  readonly prompts: number;
  readonly isAtLeast: boolean;
}

/** Where a provider may be asked to keep the prefix (at most four). */
export interface CacheHint {
  readonly after: "L1_SYSTEM" | "L2_PREVIOUS" | "history" | "last" | "previous";
  readonly tokens: number;
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

/** All conversations that the log's fold remembers, the one spoken of last at the end. */
export interface Conversations {
  readonly conversations: readonly ListedConversation[];
  readonly rememberedMax: number;
  readonly prices: Prices;
}

/** Money for one prompt, or for several. */
export interface Cost {
  readonly amount: number;
  readonly basis: "both" | "estimated" | "reported";
}

/** The notes: the unused first, then the unknown, then the used; each the largest first. */
export interface CoverageShown {
  readonly first: number;
  readonly last: number;
  readonly isCut: boolean;
  readonly read: number;
  readonly notKept: number;
  readonly masked: number;
  readonly totals: readonly StatusTotal[];
  readonly notes: readonly CoveredNote[];
  readonly notesTotal: number;
}

/** One note. */
export interface CoveredNote {
  readonly note: string;
  readonly status: "unknown" | "unused" | "used";
  readonly bytes: number;
  readonly tokens: number;
  readonly given: readonly GivenNote[];
  readonly givenCount: number;
  readonly used: readonly UsedNote[];
  readonly usedCount: number;
  readonly unknownTo: readonly string[];
}

/** What one prompt's manifest says and the other's does not. */
export interface EntryChange {
  readonly sign: "+" | "-";
  readonly layer: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly why: string;
  readonly tokens: number;
}

/** That an agent was given a note. */
export interface GivenNote {
  readonly seq: number;
  readonly how: "call" | "prompt" | "volunteered";
  readonly what: "name" | "text";
  readonly to: string;
  readonly conversation: string | null;
  readonly bytes: number;
  readonly tokens: number;
}

/** One lane's events. */
export interface LaneCounts {
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly counts: readonly number[];
}

/** A layer of one prompt, as tokens. */
export interface LayerBar {
  readonly layer: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
  readonly tokens: number;
  readonly bytes: number;
  readonly reuse: ReuseTokens;
  readonly blocks: number;
}

/** One layer of both prompts. */
export interface LayerDiff {
  readonly layer: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
  readonly same: boolean;
  readonly beforeTokens: number;
  readonly afterTokens: number;
}

/** One conversation. */
export interface ListedConversation {
  readonly conversation: string;
  readonly vault: string | null;
  readonly provider: string;
  readonly model: string;
  readonly messages: number;
  readonly prompts: number;
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
  readonly begin: string | null;
  readonly end: string | null;
  readonly ended: boolean;
  readonly estimate: number | null;
  readonly cache: Summed | null;
  readonly cost: Cost | null;
  readonly masked: string;
}

/** The workspace after an event. */
export interface Moment {
  readonly seq: number;
  readonly time: string;
  readonly event: unknown;
  readonly state: StateJson;
  readonly changes: readonly Change[];
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

/** Where the prices come from. */
export interface Prices {
  readonly dated: string;
  readonly currency: string;
  readonly file: string;
  readonly isOwn: boolean;
  /** (default "") */
  readonly problem?: string;
}

/** What the runtime was given for the provider. */
export interface PromptBody {
  readonly shape: string | null;
  readonly text: string;
  readonly chars: number;
  readonly nextOffset: number | null;
  readonly bytes: number;
  readonly changes: readonly string[];
  readonly same: boolean | null;
}

/** A conversation as prompts, in order. */
export interface PromptColumn {
  readonly conversation: string;
  readonly vault: string | null;
  readonly provider: string;
  readonly model: string;
  readonly ended: boolean;
  readonly prompts: readonly PromptRow[];
  readonly earlier: number | null;
  readonly prices: Prices;
}

/** Both prompts beside each other. */
export interface PromptDiff {
  readonly before: number;
  readonly after: number;
  readonly first: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER" | null;
  readonly causes: readonly string[];
  readonly common: number;
  readonly lost: number;
  readonly anew: number;
  readonly layers: readonly LayerDiff[];
  readonly entries: readonly EntryChange[];
  readonly entriesLeftOff: number;
  readonly lines: readonly string[];
  readonly linesLeftOff: number;
  readonly tooLong: boolean;
}

/** What rebuilding the prompt from the log alone came to. */
export interface PromptRebuilt {
  readonly outcome: "damaged" | "different" | "notRecorded" | "same";
  readonly why: string;
  readonly differs: string | null;
}

/** One prompt of a column. */
export interface PromptRow {
  readonly seq: number;
  readonly time: string;
  readonly message: string;
  readonly pipeline: "chat" | "completion" | "compression" | "refactor";
  readonly words: string;
  readonly estimate: number | null;
  readonly limit: number;
  readonly toolTokens: number;
  readonly tools: "cached" | "new" | "rewritten" | null;
  readonly layers: readonly LayerBar[];
  readonly notKept: string;
  readonly outcome: "hit" | "miss" | "unknown" | null;
  readonly cause: string | null;
  readonly expected: number | null;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
  readonly provider: string;
  readonly model: string;
  readonly cost: Cost | null;
  readonly masked: string;
}

/** One prompt. */
export interface PromptShown {
  readonly prompt: PromptRow;
  readonly conversation: string;
  readonly asOfSeq: number;
  readonly shape: string | null;
  readonly rebuilt: PromptRebuilt;
  readonly estimator: string;
  readonly marks: readonly CacheHint[];
  readonly blocks: readonly ShownBlock[];
  readonly blocksTotal: number;
  readonly warnings: readonly string[];
  readonly before: number | null;
  readonly after: number | null;
  readonly prices: Prices;
}

export interface RecentJson {
  readonly id: string;
  readonly at: string;
}

/** Tokens by how they compare with the prompt before. */
export interface ReuseTokens {
  readonly cached: number;
  readonly new: number;
  readonly rewritten: number;
}

export interface Selection {
  readonly note: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly at: string;
  readonly text?: string | null;
  readonly textSha256?: string | null;
}

/** One thing that is in the prompt, or was left out of it. */
export interface ShownBlock {
  readonly layer: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
  readonly index: number;
  readonly id: string;
  readonly kind: string;
  readonly state: "changes" | "dropped" | "elided" | "empty" | "failed" | "full" | "reference" | "shortened" | "stale";
  readonly why: string;
  readonly detail: string | null;
  readonly tokens: number;
  readonly bytes: number;
  readonly revision: string | null;
  readonly reuse: "cached" | "new" | "rewritten" | null;
  readonly turn: string | null;
  readonly note: string | null;
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

/** All notes of one status. */
export interface StatusTotal {
  readonly status: "unknown" | "unused" | "used";
  readonly notes: number;
  readonly bytes: number;
  readonly tokens: number;
}

/** Totals over the prompts of one conversation. */
export interface Summed {
  readonly prompts: number;
  readonly hits: number;
  readonly misses: number;
  readonly notReported: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly causes: { readonly [name: string]: number };
}

export interface TabJson {
  readonly id: string;
  readonly noteId: string;
  readonly source: "history" | "navigation" | "search" | "wikilink";
  readonly openedAt: string;
  readonly lastAccessed: string;
}

/** Counts of events in bins of equal length. */
export interface Timeline {
  readonly beginUs: number;
  readonly endUs: number;
  readonly lanes: readonly LaneCounts[];
}

/** That the agent came back to a note which it had been given. */
export interface UsedNote {
  readonly seq: number;
  readonly how: "cited" | "named" | "touched";
  readonly by: string;
}

export interface VaultJson {
  readonly id: string;
  readonly name: string;
  readonly path: string;
}
