// Generated from the repository's schemas/ by scripts/generate.js; not edited by hand.

/** The user looks at no note. */
export interface ActiveNoteClearedAction {
  readonly type: "active_note_cleared";
  readonly data?: Record<string, never>;
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The user looks at this note. With null it becomes `active_note_cleared` before it is appended. */
export interface ActiveNoteSetAction {
  readonly type: "active_note_set";
  readonly data: {
    readonly note: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Flags the note; its entries stay. */
export interface NoteArchivedAction {
  readonly type: "note_archived";
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The user deleted the note: it leaves active, pins and tabs. */
export interface NoteDeletedAction {
  readonly type: "note_deleted";
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Appended to the pins, or inserted at `index`; a temporary tab of that note goes. */
export interface NotePinnedAction {
  readonly type: "note_pinned";
  readonly data: {
    readonly note: string;
    /** (minimum 0) */
    readonly index?: number | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The note moved; every mention follows, and the old path still resolves. */
export interface NoteRenamedAction {
  readonly type: "note_renamed";
  readonly data: {
    readonly from: string;
    readonly to: string;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Takes the flag away. */
export interface NoteUnarchivedAction {
  readonly type: "note_unarchived";
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Removed from the pins, and becomes the last temporary tab. */
export interface NoteUnpinnedAction {
  readonly type: "note_unpinned";
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The new order of the pins: a permutation of them. */
export interface PinnedNotesReorderedAction {
  readonly type: "pinned_notes_reordered";
  readonly data: {
    /** (maxItems 1000) */
    readonly notes: readonly string[];
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** What is selected in the active note; of another note it changes nothing. */
export interface SelectionChangedAction {
  readonly type: "selection_changed";
  readonly data: {
    readonly note: string;
    /** 1-based line of the raw file (minimum 1) */
    readonly startLine: number;
    /** 1-based line of the raw file (minimum 1) */
    readonly endLine: number;
    /** (maxLength 200000) */
    readonly text?: string | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Closes one tab, named by its id or by its note. */
export interface TemporaryTabClosedAction {
  readonly type: "temporary_tab_closed";
  readonly data?: {
    readonly tabId?: string | null;
    readonly note?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** A preview of a note. An existing tab is only touched; a pinned note gets none. */
export interface TemporaryTabOpenedAction {
  readonly type: "temporary_tab_opened";
  readonly data: {
    readonly note: string;
    readonly source: "history" | "navigation" | "search" | "wikilink";
    /** (maxLength 512) */
    readonly title?: string | null;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** All temporary tabs go; pins stay. */
export interface TemporaryTabsClearedAction {
  readonly type: "temporary_tabs_cleared";
  readonly data?: Record<string, never>;
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The new order of the tabs: a permutation of their ids. */
export interface TemporaryTabsReorderedAction {
  readonly type: "temporary_tabs_reordered";
  readonly data: {
    /** (maxItems 1000) */
    readonly tabIds: readonly string[];
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** Makes another open vault the current one; its active note is null until the next set. */
export interface VaultSwitchedAction {
  readonly type: "vault_switched";
  readonly data: {
    readonly vaultId: string;
  };
  /** (minLength 1, maxLength 128) */
  readonly id?: string | null;
  /** (maxLength 128) */
  readonly vault?: string | null;
}

/** The `error` of a JSON-RPC response. */
export interface WireError {
  readonly code: -32700 | -32603 | -32602 | -32601 | -32600 | 4001 | 4002 | 4003 | 4004 | 4005;
  readonly message: string;
  readonly data: {
    readonly code: "ALREADY_RUNNING" | "BATCH_TOO_LARGE" | "BUSY" | "CONFLICT" | "DISK_FULL" | "INTERNAL" | "INVALID_ARGUMENT" | "INVALID_JSON" | "INVALID_REQUEST" | "LINE_TOO_LARGE" | "LOG_DAMAGED" | "LOG_FAILED" | "LOG_READ_ONLY" | "NOT_ALLOWED" | "NO_DAEMON" | "OUTSIDE_VAULT" | "SOCKET_UNUSABLE" | "TIMEOUT" | "UNKNOWN_ACTION" | "UNKNOWN_METHOD" | "UNKNOWN_TOOL";
    readonly hint: string;
  };
}

export interface ActiveNoteClearedEvent {
  readonly type: "active_note_cleared";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: Record<string, never>;
}

export interface ActiveNoteSetEvent {
  readonly type: "active_note_set";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface DaemonStartedEvent {
  readonly type: "daemon_started";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly version: string;
    readonly pid: number;
    readonly vaults: readonly string[];
  };
}

export interface DaemonStoppedEvent {
  readonly type: "daemon_stopped";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly reason: string;
  };
}

export interface LogRecoveredEvent {
  readonly type: "log_recovered";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly segment: string;
    readonly offset: number;
    readonly bytes: number;
    readonly lastSeq: number;
    readonly quarantined: string;
  };
}

export interface NoteArchivedEvent {
  readonly type: "note_archived";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NoteChangedEvent {
  readonly type: "note_changed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (minimum 0) */
    readonly size: number;
    /** decimal nanoseconds since the epoch (pattern ^-?[0-9]+$) */
    readonly mtimeNs: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly sha256?: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NoteCreatedEvent {
  readonly type: "note_created";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (minimum 0) */
    readonly size: number;
    /** decimal nanoseconds since the epoch (pattern ^-?[0-9]+$) */
    readonly mtimeNs: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly sha256?: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NoteDeletedEvent {
  readonly type: "note_deleted";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NotePinnedEvent {
  readonly type: "note_pinned";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (minimum 0) */
    readonly index?: number | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NoteRenamedEvent {
  readonly type: "note_renamed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly from: string;
    readonly to: string;
  };
}

export interface NoteUnarchivedEvent {
  readonly type: "note_unarchived";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface NoteUnpinnedEvent {
  readonly type: "note_unpinned";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface PinnedNotesReorderedEvent {
  readonly type: "pinned_notes_reordered";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (maxItems 1000) */
    readonly notes: readonly string[];
  };
}

export interface SelectionChangedEvent {
  readonly type: "selection_changed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    /** 1-based line of the raw file (minimum 1) */
    readonly startLine: number;
    /** 1-based line of the raw file (minimum 1) */
    readonly endLine: number;
    /** (maxLength 200000) */
    readonly text?: string | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface SharingSetEvent {
  readonly type: "sharing_set";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (minLength 1, maxLength 200) */
    readonly client: string;
    readonly level: "all" | "names" | "none";
  };
}

export interface TemporaryTabClosedEvent {
  readonly type: "temporary_tab_closed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly tabId?: string | null;
    readonly note?: string | null;
  };
}

export interface TemporaryTabOpenedEvent {
  readonly type: "temporary_tab_opened";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    readonly source: "history" | "navigation" | "search" | "wikilink";
    /** (maxLength 512) */
    readonly title?: string | null;
  };
}

export interface TemporaryTabsClearedEvent {
  readonly type: "temporary_tabs_cleared";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: Record<string, never>;
}

export interface TemporaryTabsExpiredEvent {
  readonly type: "temporary_tabs_expired";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly tabIds: readonly string[];
  };
}

export interface TemporaryTabsReorderedEvent {
  readonly type: "temporary_tabs_reordered";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (maxItems 1000) */
    readonly tabIds: readonly string[];
  };
}

export interface ToolCalledEvent {
  readonly type: "tool_called";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly tool: string;
    readonly caller: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly asOfSeq: number;
    readonly resultSha256: string;
    readonly bytes: number;
    readonly durationUs: number;
    readonly ok: boolean;
    readonly inputsSha256?: string | null;
  };
}

export interface VaultClosedEvent {
  readonly type: "vault_closed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly vaultId: string;
  };
}

export interface VaultOpenedEvent {
  readonly type: "vault_opened";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly vaultId: string;
    readonly name: string;
    readonly path: string;
  };
}

export interface VaultSwitchedEvent {
  readonly type: "vault_switched";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly vaultId: string;
  };
}

/** First line of an export. */
export interface ExportHeader {
  readonly workspaced: string;
  readonly version: number;
  /** (default "") */
  readonly log?: string;
  /** (default 2) */
  readonly catalogue?: number;
}

/** Unknown fields are ignored: a newer client may say more about itself. */
export interface HelloParams {
  readonly client?: {
    /** (minLength 1, maxLength 64, default "unknown") */
    readonly name?: string;
    /** (default "") */
    readonly version?: string;
    readonly pid?: number | null;
  };
}

export interface LogParams {
  /** (minimum 0, default 1) */
  readonly from?: number;
  /** (minimum 1, maximum 10000, default 1000) */
  readonly limit?: number;
  readonly types?: readonly string[] | null;
}

export interface PublishParams {
  readonly actions: readonly unknown[];
  /** (minLength 1, maxLength 64) */
  readonly source?: string | null;
}

export type ReconcileParams = Record<string, never>;

export interface ShareParams {
  /** (minLength 1, maxLength 200) */
  readonly client: string;
  readonly level?: "all" | "names" | "none" | null;
}

export type ShutdownParams = Record<string, never>;

/** A UI's whole view after it (re)connected. */
export interface SnapshotParams {
  /** (minLength 1, maxLength 64) */
  readonly source: string;
  readonly active: string | null;
  /** (maxItems 1000) */
  readonly pins: readonly string[];
  /** (maxItems 1000) */
  readonly tabs: ReadonlyArray<{
    readonly note: string;
    /** (default "navigation") */
    readonly source?: "history" | "navigation" | "search" | "wikilink";
  }>;
  readonly vault?: string | null;
}

export interface StateParams {
  /** (minimum 0) */
  readonly at?: number | null;
  /** (minimum 0) */
  readonly minSeq?: number | null;
  readonly vault?: string | null;
}

export type StatusParams = Record<string, never>;

export interface SubscribeParams {
  /** (minimum 0) */
  readonly since?: string | number | null;
  readonly types?: readonly string[] | null;
  /** (default false) */
  readonly coalesce?: boolean;
}

export interface UnsubscribeParams {
  readonly subscription: string;
}

/** The state of one vault as `workspaced/state` and `workspaced replay --json` give it. */
export interface WorkspaceState {
  readonly seq: number;
  readonly currentVaultId: string | null;
  readonly vaults: ReadonlyArray<{
    readonly id: string;
    readonly name: string;
    readonly path: string;
  }>;
  readonly activeNote: {
    readonly id: string;
    readonly since: string;
  } | null;
  readonly activeTabId: string | null;
  readonly pinnedNotes: ReadonlyArray<{
    readonly id: string;
    readonly pinnedAt: string;
  }>;
  readonly temporaryTabs: ReadonlyArray<{
    readonly id: string;
    readonly noteId: string;
    readonly source: "history" | "navigation" | "search" | "wikilink";
    readonly openedAt: string;
    readonly lastAccessed: string;
  }>;
  readonly recentNotes: ReadonlyArray<{
    readonly id: string;
    readonly at: string;
  }>;
  readonly selection: {
    readonly note: string;
    readonly startLine: number;
    readonly endLine: number;
    readonly at: string;
    readonly text?: string | null;
    readonly textSha256?: string | null;
  } | null;
  readonly archived: readonly string[];
  readonly lastUpdated: string | null;
  readonly sharing?: Readonly<Record<string, "all" | "names" | "none">>;
}

export interface GetCurrentNoteInput {
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Links from and to it. (default false) */
  readonly includeLinks?: boolean;
  /** Headings. (default false) */
  readonly includeOutline?: boolean;
  /** Characters of text. (minimum 100, maximum 50000) */
  readonly maxContentLength?: number;
  /** Begin at a former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetCurrentNoteOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly id?: string;
    readonly title?: string;
    readonly path?: string;
    readonly type?: string;
    readonly exists?: boolean;
    readonly archived?: boolean;
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly content?: string;
    readonly sha256?: string;
    readonly links?: Readonly<Record<string, unknown>>;
    readonly outline?: ReadonlyArray<{
      readonly level?: number;
      readonly text?: string;
      readonly line?: number;
    }>;
  };
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly truncated?: boolean;
    readonly originalLength?: number;
    readonly returnedLength?: number;
    readonly nextOffset?: number | null;
  };
}

export interface GetNavigationHistoryInput {
  /** Visits. (minimum 1, maximum 200, default 20) */
  readonly limit?: number;
  /** ISO 8601; UTC without offset. (maxLength 64) */
  readonly sinceTime?: string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetNavigationHistoryOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly visits?: ReadonlyArray<{
      readonly id?: string;
      readonly title?: string;
      readonly exists?: boolean;
      readonly at?: string;
      readonly until?: string | null;
      readonly dwellSeconds?: number;
    }>;
    readonly total?: number;
  };
  readonly warnings?: readonly string[];
}

export interface GetNoteByReferenceInput {
  /** Path, id, title, alias, file name or [[wikilink]], with or without #heading. (minLength 1, maxLength 2048) */
  readonly reference: string;
  /** Text. (default true) */
  readonly includeContent?: boolean;
  /** Tags, dates, counts, front matter. (default false) */
  readonly includeMetadata?: boolean;
  /** Characters of text. (minimum 100, maximum 10000, default 3000) */
  readonly maxContentLength?: number;
  /** Begin at a former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetNoteByReferenceOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly id?: string;
    readonly title?: string;
    readonly path?: string;
    readonly type?: string;
    readonly exists?: boolean;
    readonly archived?: boolean;
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly content?: string;
    readonly sha256?: string;
    readonly resolvedBy?: string;
    readonly heading?: Readonly<Record<string, unknown>>;
    readonly block?: Readonly<Record<string, unknown>>;
  };
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly truncated?: boolean;
    readonly originalLength?: number;
    readonly returnedLength?: number;
    readonly nextOffset?: number | null;
  };
}

export interface GetRelatedNotesInput {
  /** Default: the active note. (minLength 1, maxLength 2048) */
  readonly reference?: string;
  /** Notes. (minimum 1, maximum 50, default 10) */
  readonly limit?: number;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetRelatedNotesOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly note?: {
      readonly id?: string;
      readonly title?: string;
      readonly path?: string;
    };
    readonly related?: ReadonlyArray<{
      readonly id?: string;
      readonly title?: string;
      readonly path?: string;
      readonly score?: number;
      readonly reasons?: ReadonlyArray<{
        readonly kind?: "linksTo" | "linkedFrom" | "sharedTags" | "visitedTogether" | "similarText";
        readonly count?: number;
        readonly tags?: readonly string[];
        readonly words?: readonly string[];
      }>;
      readonly archived?: boolean;
    }>;
    readonly total?: number;
  };
  readonly warnings?: readonly string[];
}

export interface GetWorkspaceContextInput {
  /** Include the notes' text. (default false) */
  readonly includeContent?: boolean;
  /** Characters per note. (minimum 100, maximum 10000, default 2000) */
  readonly maxContentLength?: number;
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Characters of all text. (minimum 100, maximum 50000, default 20000) */
  readonly maxTotalLength?: number;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetWorkspaceContextOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly activeNote?: GetWorkspaceContextOutputContextNote | null;
    readonly pinnedNotes?: readonly GetWorkspaceContextOutputContextNote[];
    readonly temporaryTabs?: readonly GetWorkspaceContextOutputContextNote[];
    readonly activeTabId?: string | null;
    readonly recentNotes?: ReadonlyArray<{
      readonly id?: string;
      readonly title?: string;
      readonly exists?: boolean;
      readonly at?: string;
    }>;
    readonly selection?: Readonly<Record<string, unknown>> | null;
    readonly vaultInfo?: Readonly<Record<string, unknown>>;
    readonly summary?: Readonly<Record<string, unknown>>;
    readonly omitted?: ReadonlyArray<{
      readonly id?: string;
      readonly part?: string;
      readonly reason?: string;
    }>;
    readonly omittedTotal?: number;
    readonly withheld?: number;
    readonly lastUpdated?: string | null;
  };
  readonly warnings?: readonly string[];
}

export interface GetWorkspaceContextOutputContextNote {
  readonly id?: string;
  readonly title?: string;
  readonly path?: string;
  readonly type?: string;
  readonly exists?: boolean;
  readonly archived?: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly content?: string;
  readonly sha256?: string;
  readonly error?: string;
  readonly contentRef?: string;
  readonly truncation?: Readonly<Record<string, unknown>>;
  readonly since?: string;
  readonly pinnedAt?: string;
  readonly tabId?: string;
  readonly source?: string;
  readonly openedAt?: string;
  readonly lastAccessed?: string;
}

export interface GetWorkspaceSummaryInput {
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetWorkspaceSummaryOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly counts?: Readonly<Record<string, unknown>>;
    readonly indexState?: string;
    readonly activity?: Readonly<Record<string, unknown>>;
    readonly topTags?: Readonly<Record<string, unknown>>;
    readonly openQuestions?: Readonly<Record<string, unknown>>;
  };
  readonly warnings?: readonly string[];
}

export interface SearchWorkspaceInput {
  /** Words; all must occur. (minLength 1, maxLength 500) */
  readonly query: string;
  /** Notes. (minimum 1, maximum 50, default 10) */
  readonly limit?: number;
  /** workspace: active, pins, tabs, recents. (default "vault") */
  readonly scope?: "vault" | "workspace";
  /** Only notes with all of them. (maxItems 10) */
  readonly tags?: readonly string[];
  /** Only notes below it; a path such as work/plans. (maxLength 1024) */
  readonly folder?: string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface SearchWorkspaceOutput {
  readonly success: boolean;
  readonly message: string;
  readonly asOfSeq: number;
  readonly data?: {
    readonly results?: ReadonlyArray<{
      readonly id?: string;
      readonly title?: string;
      readonly path?: string;
      readonly line?: number;
      readonly snippet?: string;
      readonly score?: number;
    }>;
    readonly total?: number;
    readonly indexState?: string;
  };
  readonly warnings?: readonly string[];
}

/** What a UI may publish. */
export type Action =
  | ActiveNoteClearedAction
  | ActiveNoteSetAction
  | NoteArchivedAction
  | NoteDeletedAction
  | NotePinnedAction
  | NoteRenamedAction
  | NoteUnarchivedAction
  | NoteUnpinnedAction
  | PinnedNotesReorderedAction
  | SelectionChangedAction
  | TemporaryTabClosedAction
  | TemporaryTabOpenedAction
  | TemporaryTabsClearedAction
  | TemporaryTabsReorderedAction
  | VaultSwitchedAction;

/** What the log holds. A newer daemon may send others: keep a default branch. */
export type WorkspaceEvent =
  | ActiveNoteClearedEvent
  | ActiveNoteSetEvent
  | DaemonStartedEvent
  | DaemonStoppedEvent
  | LogRecoveredEvent
  | NoteArchivedEvent
  | NoteChangedEvent
  | NoteCreatedEvent
  | NoteDeletedEvent
  | NotePinnedEvent
  | NoteRenamedEvent
  | NoteUnarchivedEvent
  | NoteUnpinnedEvent
  | PinnedNotesReorderedEvent
  | SelectionChangedEvent
  | SharingSetEvent
  | TemporaryTabClosedEvent
  | TemporaryTabOpenedEvent
  | TemporaryTabsClearedEvent
  | TemporaryTabsExpiredEvent
  | TemporaryTabsReorderedEvent
  | ToolCalledEvent
  | VaultClosedEvent
  | VaultOpenedEvent
  | VaultSwitchedEvent;

/** Parameters by the name of the method. */
export interface MethodParams {
  "workspaced/hello": HelloParams;
  "workspaced/log": LogParams;
  "workspaced/publish": PublishParams;
  "workspaced/reconcile": ReconcileParams;
  "workspaced/share": ShareParams;
  "workspaced/shutdown": ShutdownParams;
  "workspaced/snapshot": SnapshotParams;
  "workspaced/state": StateParams;
  "workspaced/status": StatusParams;
  "workspaced/subscribe": SubscribeParams;
  "workspaced/unsubscribe": UnsubscribeParams;
}

/** Arguments by the name of the tool. */
export interface ToolArguments {
  get_current_note: GetCurrentNoteInput;
  get_navigation_history: GetNavigationHistoryInput;
  get_note_by_reference: GetNoteByReferenceInput;
  get_related_notes: GetRelatedNotesInput;
  get_workspace_context: GetWorkspaceContextInput;
  get_workspace_summary: GetWorkspaceSummaryInput;
  search_workspace: SearchWorkspaceInput;
}

/** Answers by the name of the tool. */
export interface ToolOutputs {
  get_current_note: GetCurrentNoteOutput;
  get_navigation_history: GetNavigationHistoryOutput;
  get_note_by_reference: GetNoteByReferenceOutput;
  get_related_notes: GetRelatedNotesOutput;
  get_workspace_context: GetWorkspaceContextOutput;
  get_workspace_summary: GetWorkspaceSummaryOutput;
  search_workspace: SearchWorkspaceOutput;
}
