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
  readonly warnings: readonly string[];
  readonly damage: Damage | null;
  readonly newerEvents: number;
  readonly redacted: boolean;
  readonly recordings: "damaged" | "kept" | "missing";
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
  readonly asked: CallTotals;
  readonly told: CallTotals;
}

/** All agents at a moment. */
export interface Agents {
  readonly seq: number;
  readonly time: string;
  readonly defaultLevel: "all" | "names" | "none";
  readonly defaultVolunteering: "off" | "on" | "selection-off";
  readonly agents: readonly Agent[];
  readonly pause: PauseShown | null;
  readonly settings: readonly EventRow[];
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

/** A recorded call. */
export interface Call {
  readonly seq: number;
  readonly time: string;
  readonly tool: string;
  readonly caller: string;
  readonly ok: boolean;
  readonly code: string | null;
  readonly durationUs: number;
  readonly bytes: number;
  readonly tokens: number;
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
  readonly keepLonger: string;
}

/** One call, or one time that something was told. */
export interface CallShown {
  readonly seq: number;
  readonly time: string;
  readonly what: string;
  readonly ok: boolean;
  readonly bytes: number;
}

/** Calls up to the moment. */
export interface CallTotals {
  readonly calls: number;
  readonly failed: number;
  readonly bytes: number;
  readonly tools: readonly ToolCount[];
  readonly latest: readonly CallShown[];
}

/** Some calls, and where the next ones begin. */
export interface Calls {
  readonly calls: readonly Listed[];
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

/** One change for people, as `workspaced replay --steps` prints it. */
export interface ChangeLine {
  readonly kind: "added" | "changed" | "order" | "removed";
  readonly text: string;
}

/** All conversations that the log's fold remembers, the one spoken of last at the end. */
export interface Conversations {
  readonly conversations: readonly ListedConversation[];
  readonly rememberedMax: number;
  readonly overlaid: readonly ListedChat[];
  readonly prices: Prices;
}

/** Money for one prompt, or for several. */
export interface Cost {
  readonly amount: number;
  readonly basis: "both" | "estimated" | "reported";
}

/** Whether the daemon that writes the log is there. */
export interface DaemonLink {
  readonly connected: boolean;
  /** (default "") */
  readonly why?: string;
}

/** Why the log is shown only up to its last event, not to its end. */
export interface Damage {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
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

/** Where the page shows what a finding rests on. */
export interface Evidence {
  readonly title: string;
  readonly link: readonly string[];
}

/** One question of a call with its answer. */
export interface Exchanged {
  readonly question: string;
  readonly asked: unknown;
  readonly answer: unknown;
  readonly raised: Raised | null;
  readonly notes: readonly NoteRead[];
}

/** One thing that is worth looking at. */
export interface Finding {
  readonly seq: number;
  readonly time: string;
  readonly kind: "failedCall" | "folded" | "olderNote" | "withheldNote";
  readonly sentence: string;
  readonly evidence: readonly Evidence[];
  readonly since?: string | null;
  readonly note?: string | null;
  readonly difference?: readonly string[];
  /** (default "") */
  readonly answer?: string;
  /** (default 1) */
  readonly times?: number;
}

/** What is worth looking at, newest first. */
export interface Findings {
  readonly findings: readonly Finding[];
  readonly leftOut: number;
  readonly searchedFrom: number | null;
}

/** How far the log is folded. Moments among the folded events are answered at once, others once they are. */
export interface Folding {
  readonly folded: number;
  readonly events: number;
}

/** The log has new events. */
export interface Grew {
  readonly last: number;
}

/** One text, and what became of it. */
export interface InsertionShown {
  readonly seq: number;
  readonly time: string;
  readonly insertion: string;
  readonly turn: string;
  readonly after: string | null;
  readonly form: string;
  readonly fromSeq: number | null;
  readonly text: string | null;
  readonly notes: readonly ToldNote[];
  readonly requests: number;
  readonly withdrawnAt: number | null;
}

/** The last judgement of a prompt or call. */
export interface Judged {
  readonly event: number | null;
  readonly verdict?: "right" | "wrong" | null;
  /** (default "") */
  readonly wanted?: string;
  /** (default "") */
  readonly why?: string;
}

/** One lane's events. */
export interface LaneCounts {
  readonly lane: "calls" | "files" | "log" | "navigation" | "prompts" | "sharing" | "volunteered";
  readonly total: number;
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

/** One call of a list. */
export interface Listed {
  readonly seq: number;
  readonly time: string;
  readonly caller: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly argumentsSha256: string | null;
  readonly asOfSeq: number;
  readonly ok: boolean;
  readonly code: string | null;
  readonly bytes: number;
  readonly tokens: number;
  readonly durationUs: number;
  readonly kept: boolean;
}

/** One chat whose requests were overlaid. */
export interface ListedChat {
  readonly chat: string;
  readonly caller: string;
  readonly form: string;
  readonly last: string;
  readonly insertions: number;
  readonly requests: number;
}

/** One conversation. */
export interface ListedConversation {
  readonly conversation: string;
  readonly words: string;
  readonly vault: string | null;
  readonly provider: string;
  readonly model: string;
  readonly messages: number;
  readonly prompts: number;
  readonly lastSeq: number | null;
  readonly begin: string | null;
  readonly end: string | null;
  readonly ended: boolean;
  readonly estimate: number | null;
  readonly cache: Summed;
  readonly cost: Cost | null;
  readonly uncached: Cost | null;
  readonly stale: number;
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

/** One note. */
export interface NoteNamed {
  readonly path: string;
  readonly events: number;
  readonly last: number;
}

/** A note as it was read. */
export interface NoteRead {
  readonly id: string;
  readonly text: string | null;
  readonly bytes: number;
  readonly why: string;
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

/** The log is being verified before it opens. */
export interface Opening {
  readonly done: number;
  readonly of: number;
}

/** The result of verifying a call or a prompt. */
export type Outcome = "damaged" | "different" | "notRecorded" | "otherVersion" | "same";

/** What is known of a chat. */
export interface OverlaidChat {
  readonly chat: string;
  readonly caller: string;
  readonly insertions: readonly InsertionShown[];
  readonly requests: readonly RequestShown[];
}

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

/** Where the prices come from. */
export interface Prices {
  readonly source: string;
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
  readonly words: string;
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
  readonly outcome: Outcome;
  readonly why: string;
  readonly differs: string | null;
}

/** One prompt of a column. */
export interface PromptRow {
  readonly seq: number;
  readonly time: string;
  readonly message: string;
  readonly pipeline: "chat" | "compression";
  readonly words: string;
  readonly answer: string;
  readonly stale: readonly string[];
  readonly estimate: number;
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
  readonly uncached: Cost | null;
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

/** The error that the View raised instead of an answer. `type` is the name of the error's class; for an error that is not a `WorkspacedError` it is `Exception`. */
export interface Raised {
  readonly type: string;
  readonly message: string;
  /** (default "") */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What a client is shown of the note. */
export interface Reach {
  readonly client: string;
  readonly sharing: string;
  readonly shown: string;
  readonly unasked: boolean;
}

/** One reason why a note is not volunteered, for people. */
export interface Reason {
  readonly kind: "attachment" | "frontMatter" | "gitignore" | "missing" | "rule" | "settling" | "unknown";
  readonly detail: string;
  /** (default "never") */
  readonly level?: "never" | "on-request";
}

export interface RecentJson {
  readonly id: string;
  readonly at: string;
}

/** A request that left with insertions. */
export interface RequestShown {
  readonly seq: number;
  readonly time: string;
  readonly insertions: readonly number[];
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
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

/** A prompt as it would have been. */
export interface Supposed {
  readonly notes: { readonly [name: string]: string };
  readonly changes: readonly string[];
}

export interface TabJson {
  readonly id: string;
  readonly noteId: string;
  readonly source: "history" | "navigation" | "search" | "wikilink";
  readonly openedAt: string;
  readonly lastAccessed: string;
}

/** An event with the text. */
export interface TextHit {
  readonly row: EventRow;
  readonly where: string;
  readonly block: string;
  readonly before: string;
  readonly found: string;
  readonly after: string;
  readonly times: number;
}

/** Events with a text, in their order. */
export interface Texts {
  readonly hits: readonly TextHit[];
  readonly next: number | null;
  readonly read: number;
  readonly notKept: number;
}

/** Counts of events in bins of equal length. An event counts at the time that it has, also where the clock was set back. */
export interface Timeline {
  readonly beginUs: number;
  readonly endUs: number;
  readonly firstUs: number;
  readonly lastUs: number;
  readonly lanes: readonly LaneCounts[];
}

/** What an agent was told without asking. */
export interface Told {
  readonly text: string | null;
  readonly session: string;
  readonly moment: string;
  readonly since: number | null;
  readonly isInserted: boolean;
}

/** A note that a text names. */
export interface ToldNote {
  readonly note: string;
  readonly revision: string | null;
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
  readonly kind: "asked" | "attached" | "file" | "leftOut" | "looked" | "memory" | "navigation" | "prompt" | "refused" | "sharing" | "told";
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
