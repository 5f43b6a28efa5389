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
  readonly code: -32700 | -32603 | -32602 | -32601 | -32600 | 4001 | 4002 | 4003 | 4004 | 4005 | 4006 | 4007 | 4008;
  readonly message: string;
  readonly data: {
    readonly code: "ALREADY_LINKED" | "ALREADY_RUNNING" | "ALREADY_TRUE" | "BATCH_TOO_LARGE" | "BLOB_FAILED" | "BUDGET_EXCEEDED" | "BUSY" | "CONFLICT" | "DISK_FULL" | "INTERNAL" | "INVALID_ARGUMENT" | "INVALID_JSON" | "INVALID_REQUEST" | "LINE_TOO_LARGE" | "LOG_DAMAGED" | "LOG_FAILED" | "LOG_READ_ONLY" | "LOG_UNREADABLE" | "MEMORY_CHANGED" | "MEMORY_OFF" | "MEMORY_WRITE_FAILED" | "NEVER_TRUE" | "NOT_ALLOWED" | "NOT_CREATOR" | "NOT_DELIVERED" | "NOT_LINKED" | "NOT_RECORDED" | "NO_DAEMON" | "OUTSIDE_VAULT" | "PACKAGE_MISSING" | "PAUSED" | "PORT_TAKEN" | "READ_ERROR" | "READ_ONLY" | "SERVICE_FAILED" | "SHARING_OFF" | "SOCKET_UNUSABLE" | "TEMPLATE_FAILED" | "TIMEOUT" | "UNKNOWN_ACTION" | "UNKNOWN_BLOB" | "UNKNOWN_CONVERSATION" | "UNKNOWN_MESSAGE" | "UNKNOWN_METHOD" | "UNKNOWN_SHAPE" | "UNKNOWN_TOOL" | "WORKSPACE_NOT_NAMED";
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

export interface AnswerJudgedEvent {
  readonly type: "answer_judged";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly of: number;
    readonly verdict: "right" | "wrong";
    /** (maxLength 4000) */
    readonly wanted?: string | null;
    /** (maxLength 4000) */
    readonly why?: string | null;
  };
}

export interface ArtifactRecordedEvent {
  readonly type: "artifact_recorded";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly id: string;
    readonly kind: "active_note" | "dataview" | "file" | "image" | "note" | "pdf" | "selected_text" | "tool_result" | "url";
    /** (pattern ^[0-9a-f]{64}$) */
    readonly revision: string;
    readonly bytes: number;
  };
}

export interface ClockSteppedEvent {
  readonly type: "clock_stepped";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly before: string;
    readonly after: string;
  };
}

export interface ContextFoldedEvent {
  readonly type: "context_folded";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly reason: "asked" | "budget" | "each_turn" | "edited" | "gone" | "pays" | "summary" | "withheld";
    readonly library: ReadonlyArray<{
      readonly id: string;
      readonly kind: "active_note" | "dataview" | "file" | "image" | "note" | "pdf" | "selected_text" | "tool_result" | "url";
      /** (pattern ^[0-9a-f]{64}$) */
      readonly revision: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly blockSha256: string;
      readonly tokens: number;
      readonly message: string;
    }>;
    readonly upTo?: string | null;
    readonly leftOut?: ReadonlyArray<{
      readonly message: string;
      readonly kind: "active_note" | "changes" | "dataview" | "file" | "image" | "note" | "pdf" | "pin" | "selected_text" | "tool_result" | "url";
      readonly id: string;
      readonly why?: "gone" | "withheld" | null;
    }>;
    readonly resultsUpTo?: string | null;
    /** (default 0) */
    readonly saved?: number;
    readonly conversation: string;
  };
}

export interface ContextInsertedEvent {
  readonly type: "context_inserted";
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
    readonly now: string;
    readonly tailSeq?: number | null;
    readonly inputsSha256?: string | null;
    readonly argumentsSha256?: string | null;
    /** (default 1) */
    readonly answerVersion?: number;
    readonly traceparent?: string | null;
    readonly session: string;
    readonly event: string;
    readonly fromSeq?: number | null;
    readonly textSha256: string;
    readonly near: string;
    readonly insertion: string;
    readonly after?: string | null;
  };
}

export interface ContextNearLimitEvent {
  readonly type: "context_near_limit";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly message: string;
    readonly estimate: number;
    readonly limit: number;
    readonly upTo: string;
    readonly conversation: string;
  };
}

export interface ContextPinnedEvent {
  readonly type: "context_pinned";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly id: string;
    readonly kind: "folder" | "linked-files" | "note" | "open-files" | "recent-changes" | "text" | "workspace";
    readonly path?: string | null;
    readonly folder?: string | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    readonly conversation: string;
  };
}

export interface ContextUnpinnedEvent {
  readonly type: "context_unpinned";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly id: string;
    readonly conversation: string;
  };
}

export interface ContextVolunteeredEvent {
  readonly type: "context_volunteered";
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
    readonly now: string;
    readonly tailSeq?: number | null;
    readonly inputsSha256?: string | null;
    readonly argumentsSha256?: string | null;
    /** (default 1) */
    readonly answerVersion?: number;
    readonly traceparent?: string | null;
    readonly session: string;
    readonly event: string;
    readonly fromSeq?: number | null;
    readonly textSha256: string;
  };
}

export interface ContextWithdrawnEvent {
  readonly type: "context_withdrawn";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly insertions: readonly string[];
  };
}

export interface ConversationEndedEvent {
  readonly type: "conversation_ended";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly conversation: string;
  };
}

export interface ConversationStartedEvent {
  readonly type: "conversation_started";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly provider: string;
    readonly model: string;
    readonly contextWindow: number;
    readonly outputReserve: number;
    readonly sections?: ReadonlyArray<{
      readonly name: "environment" | "memory" | "system";
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256: string;
    }>;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly toolsSha256?: string | null;
    readonly promotion?: "at_fold" | "each_turn" | null;
    readonly conversation: string;
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

export interface EventForgottenEvent {
  readonly type: "event_forgotten";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (default "none") */
    readonly effect?: "left" | "none" | "updated";
  };
}

export interface LinkChangedEvent {
  readonly type: "link_changed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly origin?: string | null;
    readonly members?: ReadonlyArray<{
      readonly origin: string;
      readonly person: string;
      readonly machine: string;
    }>;
    readonly vaults?: ReadonlyArray<{
      readonly vault: string;
      readonly linked: string;
      /** (default "all") */
      readonly replicate?: "all" | "none" | "pins";
    }>;
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

export interface MemoryWriteEndedEvent {
  readonly type: "memory_write_ended";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly write: number;
    readonly outcome: "done" | "failed" | "unknown";
  };
}

export interface MemoryWrittenEvent {
  readonly type: "memory_written";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
    readonly command: "create" | "delete" | "insert" | "rename" | "str_replace" | "undo";
    readonly client: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly formerSha256?: string | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    readonly from?: string | null;
    readonly undoes?: number | null;
  };
}

export interface MessageAddedEvent {
  readonly type: "message_added";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly conversation: string;
    readonly message: string;
    readonly role: "assistant" | "user";
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    readonly attachments?: ReadonlyArray<{
      readonly kind: "active_note" | "dataview" | "file" | "folder" | "image" | "note" | "pdf" | "selected_text" | "tag" | "tool_result" | "url";
      readonly id: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256?: string | null;
      readonly title?: string | null;
      /** (default false) */
      readonly resolved?: boolean;
    }>;
    readonly toolCalls?: ReadonlyArray<{
      readonly id: string;
      readonly name: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly argumentsSha256: string;
    }>;
    readonly toolResults?: ReadonlyArray<{
      readonly id: string;
      readonly name: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256: string;
      /** (default false) */
      readonly isError?: boolean;
      readonly images?: ReadonlyArray<{
        /** (pattern ^[0-9a-f]{64}$) */
        readonly sha256: string;
        readonly mediaType: string;
      }>;
    }>;
    readonly thinking?: ReadonlyArray<{
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256: string;
      readonly signature?: string | null;
      /** (default false) */
      readonly redacted?: boolean;
    }>;
  };
}

export interface MessageRemovedEvent {
  readonly type: "message_removed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly message: string;
    /** (default false) */
    readonly following?: boolean;
    readonly conversation: string;
  };
}

export interface MessageReplacedEvent {
  readonly type: "message_replaced";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly conversation: string;
    readonly message: string;
    readonly role: "assistant" | "user";
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    readonly attachments?: ReadonlyArray<{
      readonly kind: "active_note" | "dataview" | "file" | "folder" | "image" | "note" | "pdf" | "selected_text" | "tag" | "tool_result" | "url";
      readonly id: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256?: string | null;
      readonly title?: string | null;
      /** (default false) */
      readonly resolved?: boolean;
    }>;
    readonly toolCalls?: ReadonlyArray<{
      readonly id: string;
      readonly name: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly argumentsSha256: string;
    }>;
    readonly toolResults?: ReadonlyArray<{
      readonly id: string;
      readonly name: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256: string;
      /** (default false) */
      readonly isError?: boolean;
      readonly images?: ReadonlyArray<{
        /** (pattern ^[0-9a-f]{64}$) */
        readonly sha256: string;
        readonly mediaType: string;
      }>;
    }>;
    readonly thinking?: ReadonlyArray<{
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256: string;
      readonly signature?: string | null;
      /** (default false) */
      readonly redacted?: boolean;
    }>;
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

export interface NoteShownEvent {
  readonly type: "note_shown";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
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

export interface NoteWithheldEvent {
  readonly type: "note_withheld";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly note: string;
  };
}

export interface PauseEndedEvent {
  readonly type: "pause_ended";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: Record<string, never>;
}

export interface PauseStartedEvent {
  readonly type: "pause_started";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly until?: string | null;
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

export interface PromptAnsweredEvent {
  readonly type: "prompt_answered";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly caller: string;
    readonly insertion: string;
    readonly bodyHash: string;
    readonly inputTokens?: number | null;
    /** (default 0) */
    readonly cachedTokens?: number;
    /** (default 0) */
    readonly outputTokens?: number;
    readonly response?: string | null;
    readonly without?: readonly string[];
  };
}

export interface PromptAssembledEvent {
  readonly type: "prompt_assembled";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly message: string;
    readonly asOfSeq: number;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly inputsSha256: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly manifestSha256: string;
    readonly layerHashes: {
      /** (pattern ^[0-9a-f]{64}$) */
      readonly L1_SYSTEM: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly L2_PREVIOUS: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly L3_TURN: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly L4_STRIP: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly L5_USER: string;
    };
    /** (pattern ^[0-9a-f]{64}$) */
    readonly combinedHash: string;
    readonly prefixTokens: number;
    readonly estimate: number;
    readonly seedEstimate: number;
    readonly limit: number;
    /** (default 0) */
    readonly elided?: number;
    /** (default "chat") */
    readonly pipeline?: "chat" | "compression";
    readonly shape?: {
      readonly name: string;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly templateSha256?: string | null;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly bodyHash: string;
      readonly renderer?: number | null;
      readonly cachedContent?: string | null;
    } | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly turnSha256?: string | null;
    readonly totals?: {
      /** (default 0) */
      readonly L1_SYSTEM?: number;
      /** (default 0) */
      readonly L2_PREVIOUS?: number;
      /** (default 0) */
      readonly L3_TURN?: number;
      /** (default 0) */
      readonly L4_STRIP?: number;
      /** (default 0) */
      readonly L5_USER?: number;
      /** (default 0) */
      readonly tools?: number;
      /** (default 0) */
      readonly dropped?: number;
      /** (default 0) */
      readonly failed?: number;
    } | null;
    readonly conversation: string;
  };
}

export interface PromptOverlaidEvent {
  readonly type: "prompt_overlaid";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly caller: string;
    readonly insertion: string;
    readonly bodyHash: string;
    readonly without?: readonly string[];
    readonly traceparent?: string | null;
  };
}

export interface RecordForgottenEvent {
  readonly type: "record_forgotten";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: Record<string, never>;
}

export interface RemoteEventsAppliedEvent {
  readonly type: "remote_events_applied";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly origin: string;
    readonly position: {
      /** (minimum 0, maximum 9007199254740992, default 0) */
      readonly generation?: number;
      /** (minimum 0, maximum 9007199254740992, default 0) */
      readonly n?: number;
      readonly digest?: string | null;
    };
    /** (minimum 0, maximum 9007199254740992) */
    readonly ms: number;
    /** (default false) */
    readonly whole?: boolean;
    readonly view?: ReadonlyArray<{
      readonly vault: string;
      readonly active?: RemoteEventsAppliedEventSharedActive | null;
      readonly selection?: RemoteEventsAppliedEventSharedSelection | null;
      readonly pins?: ReadonlyArray<{
        readonly note: string;
        /** (minimum 0, maximum 9007199254740992) */
        readonly pinnedUs: number;
        /** (minimum 0, maximum 9007199254740992) */
        readonly ms: number;
        /** (minimum 0, maximum 9007199254740992) */
        readonly n: number;
      }>;
      /** (minimum 0, maximum 9007199254740992, default 0) */
      readonly orderedMs?: number;
      readonly tabs?: readonly RemoteEventsAppliedEventSharedTab[];
      readonly renames?: readonly RemoteEventsAppliedEventSharedRename[];
      readonly removals?: readonly RemoteEventsAppliedEventRemoval[];
      readonly forgetting?: RemoteEventsAppliedEventForgetting | null;
    }>;
    readonly changed?: ReadonlyArray<{
      readonly vault: string;
      readonly presence?: {
        readonly active?: RemoteEventsAppliedEventSharedActive | null;
        readonly selection?: RemoteEventsAppliedEventSharedSelection | null;
        readonly tabs?: readonly RemoteEventsAppliedEventSharedTab[];
      } | null;
      readonly unpinned?: readonly string[];
      readonly pinned?: ReadonlyArray<{
        /** (minimum 0, maximum 9007199254740992) */
        readonly at: number;
        readonly note: string;
        /** (minimum 0, maximum 9007199254740992) */
        readonly pinnedUs: number;
        /** (minimum 0, maximum 9007199254740992) */
        readonly ms: number;
      }>;
      readonly order?: readonly string[];
      /** (minimum 0, maximum 9007199254740992) */
      readonly orderedMs?: number | null;
      readonly renames?: readonly RemoteEventsAppliedEventSharedRename[];
      readonly renamesGone?: readonly string[];
      readonly removals?: readonly RemoteEventsAppliedEventRemoval[];
      readonly removalsGone?: readonly string[];
      readonly forgetting?: RemoteEventsAppliedEventForgetting | null;
    }>;
  };
}

/** One ask to forget a note. Who forgets the same note again asks again: the others may have named it since. */
export interface RemoteEventsAppliedEventAskedName {
  /** (pattern ^[0-9a-f]{64}$) */
  readonly name: string;
  /** (minimum 0, maximum 9007199254740992) */
  readonly number: number;
}

/** Which notes machines are to forget. */
export interface RemoteEventsAppliedEventForgetting {
  readonly asks?: readonly RemoteEventsAppliedEventAskedName[];
  readonly heard?: readonly RemoteEventsAppliedEventAskedName[];
}

/** A note that was unpinned where others had pinned it: hides the same person's pins known there. */
export interface RemoteEventsAppliedEventRemoval {
  readonly note: string;
  /** (minimum 0, maximum 9007199254740992) */
  readonly ms: number;
  readonly heard: ReadonlyArray<{
    readonly origin: string;
    /** (minimum 0, maximum 9007199254740992) */
    readonly n: number;
  }>;
}

export interface RemoteEventsAppliedEventSharedActive {
  readonly note: string;
  /** (minimum 0, maximum 9007199254740992) */
  readonly sinceUs: number;
}

export interface RemoteEventsAppliedEventSharedRename {
  readonly former: string;
  readonly note: string;
}

export interface RemoteEventsAppliedEventSharedSelection {
  readonly note: string;
  /** (minimum 0, maximum 9007199254740992) */
  readonly startLine: number;
  /** (minimum 0, maximum 9007199254740992) */
  readonly endLine: number;
  readonly text?: string | null;
}

export interface RemoteEventsAppliedEventSharedTab {
  readonly note: string;
  /** (minimum 0, maximum 9007199254740992) */
  readonly accessedUs: number;
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

export interface SummarySetEvent {
  readonly type: "summary_set";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256: string;
    readonly upTo: string;
    readonly conversation: string;
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
    readonly now: string;
    readonly tailSeq?: number | null;
    readonly inputsSha256?: string | null;
    readonly argumentsSha256?: string | null;
    /** (default 1) */
    readonly answerVersion?: number;
    readonly traceparent?: string | null;
  };
}

export interface UsageReportedEvent {
  readonly type: "usage_reported";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly message: string;
    readonly provider: string;
    readonly model: string;
    readonly inputTokens: number;
    /** (default 0) */
    readonly cachedTokens?: number;
    /** (default 0) */
    readonly outputTokens?: number;
    readonly conversation: string;
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
    readonly files?: readonly string[];
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

export interface ViewClosedEvent {
  readonly type: "view_closed";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: Record<string, never>;
}

export interface ViewOpenedEvent {
  readonly type: "view_opened";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    readonly confidence?: "inferred" | null;
  };
}

export interface VolunteeringSetEvent {
  readonly type: "volunteering_set";
  readonly seq: number;
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly vault: string | null;
  readonly data: {
    /** (minLength 1, maxLength 200) */
    readonly client: string;
    readonly volunteering: "off" | "on" | "selection-off";
  };
}

/** First line of an export. */
export interface ExportHeader {
  readonly workspaced: string;
  readonly version: number;
  /** (default "") */
  readonly log?: string;
  /** (default 1) */
  readonly catalogue?: number;
  readonly redacted?: boolean;
}

export interface BlobPutParams {
  /** (minLength 1, maxLength 128) */
  readonly upload: string;
  readonly text: string;
  /** (default false) */
  readonly last?: boolean;
}

export interface CallParams {
  /** (minimum 1) */
  readonly seq: number;
}

export interface CallsParams {
  /** (minimum 1, maximum 1000, default 20) */
  readonly limit?: number;
  /** (minimum 1) */
  readonly before?: number | null;
  readonly tool?: string | null;
  readonly caller?: string | null;
}

export type ClientsParams = Record<string, never>;

export interface ContextAssembleParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  /** (minLength 1, maxLength 128) */
  readonly message?: string | null;
  /** (default false) */
  readonly rebase?: boolean;
  /** (default true) */
  readonly layers?: boolean;
  /** (default "chat") */
  readonly pipeline?: "chat" | "compression";
  /** (minLength 1, maxLength 200) */
  readonly shape?: string | null;
  /** (minLength 1, maxLength 200) */
  readonly cachedContent?: string | null;
}

export interface ContextEndParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
}

export interface ContextExportParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
}

export interface ContextMessageParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  /** (maxItems 200) */
  readonly messages?: ReadonlyArray<{
    readonly role: "assistant" | "user";
    /** (minLength 1, maxLength 128) */
    readonly id?: string | null;
    readonly text?: string | null;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly textSha256?: string | null;
    /** (maxItems 200) */
    readonly attachments?: ReadonlyArray<{
      readonly kind: "active_note" | "dataview" | "file" | "folder" | "image" | "note" | "pdf" | "selected_text" | "tag" | "tool_result" | "url";
      /** (maxLength 1024, default "") */
      readonly id?: string;
      readonly text?: string | null;
      /** (maxLength 512) */
      readonly title?: string | null;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256?: string | null;
    }>;
    /** (maxItems 200) */
    readonly toolCalls?: ReadonlyArray<{
      /** (minLength 1, maxLength 128) */
      readonly id: string;
      /** (minLength 1, maxLength 200) */
      readonly name: string;
      readonly arguments?: Readonly<Record<string, unknown>> | string;
    }>;
    /** (maxItems 200) */
    readonly toolResults?: ReadonlyArray<{
      /** (minLength 1, maxLength 128) */
      readonly id: string;
      /** (minLength 1, maxLength 200) */
      readonly name: string;
      readonly text?: string | null;
      /** (default false) */
      readonly isError?: boolean;
      /** (pattern ^[0-9a-f]{64}$) */
      readonly textSha256?: string | null;
      /** (maxItems 20) */
      readonly images?: ReadonlyArray<{
        readonly text?: string | null;
        /** (pattern ^[0-9a-f]{64}$) */
        readonly textSha256?: string | null;
      }>;
    }>;
    /** (maxItems 200) */
    readonly thinking?: ReadonlyArray<{
      readonly text?: string | null;
      /** (maxLength 100000) */
      readonly signature?: string | null;
      readonly redacted?: string | null;
    }>;
    /** (minLength 1, maxLength 128) */
    readonly replaces?: string | null;
  }>;
  readonly remove?: {
    /** (minLength 1, maxLength 128) */
    readonly message: string;
    /** (default false) */
    readonly following?: boolean;
  } | null;
}

export interface ContextOverlayParams {
  readonly form: "anthropic" | "gemini" | "openai" | "responses";
  /** (maxItems 7000) */
  readonly turns: ReadonlyArray<{
    /** (pattern ^[0-9a-f]{64}$) */
    readonly key: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly near: string;
  }>;
  readonly open: boolean;
  /** (pattern ^[0-9a-f]{64}$) */
  readonly chat: string;
  /** (default false) */
  readonly activeText?: boolean;
  /** (maxItems 200) */
  readonly attachments?: readonly string[];
  /** (pattern ^[0-9a-f]{64}$) */
  readonly previousResponseId?: string | null;
}

export interface ContextOverlayConfirmParams {
  readonly token: string;
  /** (pattern ^[0-9a-f]{64}$) */
  readonly bodySha256: string;
  readonly traceparent?: string | null;
}

export interface ContextOverlayFinishedParams {
  readonly token: string;
  readonly form: "anthropic" | "gemini" | "openai" | "responses";
  readonly usage?: Readonly<Record<string, unknown>> | null;
  /** (pattern ^[0-9a-f]{64}$) */
  readonly responseId?: string | null;
}

export interface ContextOverlayUnchangedParams {
  /** (maxItems 64) */
  readonly reasons: ReadonlyArray<{
    /** (pattern ^[A-Z0-9_]{1,64}$) */
    readonly code: string;
    /** (minimum 1) */
    readonly count: number;
  }>;
}

export interface ContextPinParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  /** (minLength 1, maxLength 128) */
  readonly id: string;
  readonly kind: "folder" | "linked-files" | "note" | "open-files" | "recent-changes" | "text" | "workspace";
  /** (minLength 1, maxLength 1024) */
  readonly path?: string | null;
  /** (maxLength 1024) */
  readonly folder?: string | null;
  readonly text?: string | null;
}

export interface ContextStartParams {
  /** (minLength 1, maxLength 200) */
  readonly provider: string;
  /** (minLength 1, maxLength 200) */
  readonly model: string;
  /** (minimum 1, maximum 1000000000) */
  readonly contextWindow: number;
  /** (minimum 0, maximum 1000000000) */
  readonly outputReserve: number;
  /** (minLength 1, maxLength 128) */
  readonly conversation?: string | null;
  /** (minLength 1, maxLength 128) */
  readonly vault?: string | null;
  /** (default "") */
  readonly system?: string;
  /** (default "") */
  readonly memory?: string;
  /** (default true) */
  readonly environment?: boolean;
  readonly tools?: ReadonlyArray<Readonly<Record<string, unknown>>> | null;
  readonly promotion?: "at_fold" | "each_turn" | null;
}

export interface ContextSummaryParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  readonly text: string;
  /** (minLength 1, maxLength 128) */
  readonly upTo: string;
}

export interface ContextUnpinParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  /** (minLength 1, maxLength 128) */
  readonly id: string;
}

export interface ContextUsageParams {
  /** (minLength 1, maxLength 128) */
  readonly conversation: string;
  readonly report: Readonly<Record<string, unknown>>;
  /** (minLength 1, maxLength 128) */
  readonly message?: string | null;
  /** (minLength 1, maxLength 200) */
  readonly shape?: string | null;
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
  readonly tools?: "all" | "core" | null;
  /** (default false) */
  readonly inferred?: boolean;
}

export interface JudgeParams {
  /** (minimum 1) */
  readonly of: number;
  readonly verdict: "right" | "wrong";
  readonly wanted?: string | null;
  readonly why?: string | null;
}

export interface LinkApproveParams {
  /** (pattern ^[0-9a-f]{4,32}$) */
  readonly origin: string;
}

export interface LinkInviteParams {
  /** (minLength 1, maxLength 64) */
  readonly person?: string | null;
}

export interface LinkJoinParams {
  /** (minLength 1, maxLength 512) */
  readonly code: string;
  /** (maxItems 16) */
  readonly servers?: readonly string[];
  /** (minLength 1, maxLength 64) */
  readonly machine?: string | null;
}

export type LinkLeaveParams = Record<string, never>;

export interface LinkMapParams {
  readonly folder: string;
  /** (minLength 1, maxLength 64) */
  readonly name: string;
  /** (default "all") */
  readonly replicate?: "all" | "none" | "pins";
}

export interface LinkNewParams {
  /** (maxItems 16) */
  readonly servers?: readonly string[];
  /** (minLength 1, maxLength 64) */
  readonly person?: string | null;
  /** (minLength 1, maxLength 64) */
  readonly machine?: string | null;
  /** (default false) */
  readonly autoApprove?: boolean;
}

export interface LinkRemoveParams {
  /** (pattern ^[0-9a-f]{4,32}$) */
  readonly origin: string;
}

export type LinkStatusParams = Record<string, never>;

export interface LinksParams {
  /** (maxLength 1024) */
  readonly note: string;
  readonly direction: "in" | "out";
  /** (maxItems 1000) */
  readonly links?: ReadonlyArray<{
    readonly target: string;
    /** (default true) */
    readonly wiki?: boolean;
    readonly heading?: string | null;
    readonly block?: string | null;
  }> | null;
  /** (default false) */
  readonly parts?: boolean;
  /** (minimum 0, maximum 2000, default 0) */
  readonly excerptChars?: number;
  /** (default "utf-16") */
  readonly encoding?: "utf-16" | "utf-32" | "utf-8";
  /** (minimum 1, maximum 1000, default 1000) */
  readonly limit?: number;
  readonly vault?: string | null;
}

export interface LogParams {
  /** (minimum 0, default 1) */
  readonly from?: number;
  /** (minimum 1, maximum 10000, default 1000) */
  readonly limit?: number;
  readonly types?: readonly string[] | null;
}

export interface MemoryListParams {
  /** (minimum 1, maximum 1000, default 20) */
  readonly limit?: number;
  /** (minimum 1) */
  readonly before?: number | null;
}

export interface MemoryUndoParams {
  /** (minimum 1) */
  readonly seq: number;
}

export interface NamesParams {
  /** (maxLength 1000) */
  readonly prefix: string;
  /** (maxLength 1024) */
  readonly note?: string | null;
  /** (minimum 1, maximum 500, default 30) */
  readonly limit?: number;
  readonly vault?: string | null;
}

export interface PauseParams {
  /** (minimum 0.001, maximum 31622400) */
  readonly forS?: number | null;
}

export interface PublishParams {
  readonly actions: readonly unknown[];
  /** (minLength 1, maxLength 64) */
  readonly source?: string | null;
  /** (default false) */
  readonly check?: boolean;
}

export type ReconcileParams = Record<string, never>;

export type ResumeParams = Record<string, never>;

export interface ShareParams {
  /** (minLength 1, maxLength 200) */
  readonly client: string;
  readonly level?: "all" | "names" | "none" | null;
  readonly volunteering?: "off" | "on" | "selection-off" | null;
}

export interface ShareAcceptParams {
  readonly vault: string;
}

export interface ShareRulesParams {
  readonly vault?: string | null;
}

export interface ShareWhyParams {
  readonly path: string;
  readonly vault?: string | null;
  /** (minLength 1, maxLength 200) */
  readonly client?: string | null;
}

export type ShutdownParams = Record<string, never>;

/** A UI's whole view. */
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
  /** (default true) */
  readonly focused?: boolean;
  readonly selection?: {
    /** 1-based line of the raw file (minimum 1) */
    readonly startLine: number;
    /** 1-based line of the raw file (minimum 1) */
    readonly endLine: number;
    /** (maxLength 200000) */
    readonly text?: string | null;
  } | null;
}

export interface StateParams {
  /** (minimum 0) */
  readonly at?: number | string | null;
  /** (minimum 0) */
  readonly minSeq?: number | null;
  readonly vault?: string | null;
  /** (minLength 1, maxLength 64) */
  readonly of?: string | null;
}

export type StatusParams = Record<string, never>;

export interface SubscribeParams {
  /** (minimum 0) */
  readonly since?: number | string | null;
  readonly types?: readonly string[] | null;
}

export interface UnsubscribeParams {
  readonly subscription: string;
}

export interface VolunteerParams {
  /** (minLength 1, maxLength 64) */
  readonly client: string;
  /** (minLength 1, maxLength 200) */
  readonly session: string;
  /** (minLength 1, maxLength 64) */
  readonly event: string;
  /** (maxItems 32) */
  readonly folders?: readonly string[] | null;
  /** (default "difference") */
  readonly tell?: "difference" | "nothing" | "whole";
  /** (default "tagged") */
  readonly form?: "plain" | "tagged";
}

export interface VolunteerConfirmParams {
  readonly token: string;
}

export interface VolunteerEditorParams {
  /** (minLength 1, maxLength 64) */
  readonly client: string;
  /** (minLength 1, maxLength 200) */
  readonly session: string;
  /** (minLength 1, maxLength 64) */
  readonly event: string;
  /** (maxItems 32) */
  readonly folders: readonly string[];
  /** (default "selection") */
  readonly part?: "editors" | "selection";
}

export interface VolunteerPreviewParams {
  /** (minLength 1, maxLength 64) */
  readonly client: string;
  /** (minLength 1, maxLength 200) */
  readonly session?: string | null;
  /** (default "tagged") */
  readonly form?: "plain" | "tagged";
}

/** An envelope as it is answered. With a body it has no messages: the body has them. */
export interface Prompt {
  readonly version: number;
  readonly conversationId: string;
  readonly messageId: string;
  readonly layers: ReadonlyArray<{
    readonly id: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
    readonly text: string;
    readonly hash: string;
    readonly stable: boolean;
    readonly segments?: ReadonlyArray<{
      readonly id: string;
      readonly kind: string;
      readonly text: string;
      readonly tokens: number;
    }>;
  }>;
  readonly messages: ReadonlyArray<{
    readonly role: "assistant" | "system" | "user";
    readonly content: readonly PromptBlock[];
    readonly id?: string | null;
  }>;
  readonly hashes: {
    /** (pattern ^[0-9a-f]{64}$) */
    readonly L1_SYSTEM: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly L2_PREVIOUS: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly L3_TURN: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly L4_STRIP: string;
    /** (pattern ^[0-9a-f]{64}$) */
    readonly L5_USER: string;
  };
  readonly combinedHash: string;
  readonly manifest: {
    readonly conversation: string;
    readonly message: string;
    readonly layers: ReadonlyArray<{
      readonly id: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
      readonly hash: string;
      readonly tokens: number;
      readonly bytes: number;
      readonly stable: boolean;
    }>;
    readonly entries: ReadonlyArray<{
      readonly layer: "L1_SYSTEM" | "L2_PREVIOUS" | "L3_TURN" | "L4_STRIP" | "L5_USER";
      readonly id: string;
      readonly kind: string;
      readonly state: "changes" | "dropped" | "elided" | "empty" | "failed" | "full" | "reference" | "shortened" | "stale";
      readonly why: string;
      /** (default 0) */
      readonly tokens?: number;
      /** (default 0) */
      readonly bytes?: number;
      readonly revision?: string | null;
      /** (default false) */
      readonly cached?: boolean;
      readonly detail?: string | null;
      readonly notes?: readonly string[];
    }>;
    readonly estimate: number;
    readonly limit: number;
    readonly toolTokens: number;
    readonly estimator: string;
    readonly factor: number;
    readonly warnings?: readonly string[];
  };
  readonly cacheHints: ReadonlyArray<{
    readonly after: "L1_SYSTEM" | "L2_PREVIOUS" | "history" | "last" | "previous";
    readonly tokens: number;
  }>;
  readonly estimate: number;
  readonly seq: number;
  readonly clock: string;
  readonly body?: Readonly<Record<string, unknown>> | null;
  readonly changes?: readonly string[] | null;
  readonly toolNames?: { readonly [name: string]: string } | null;
  readonly cachedContent?: {
    readonly key: string;
    readonly ttl: string;
    readonly create: Readonly<Record<string, unknown>> | null;
  } | null;
}

/** A part of a message. Which fields it has depends on `type`. */
export interface PromptBlock {
  readonly type: "image" | "text" | "thinking" | "toolCall" | "toolResult";
  readonly text?: string | null;
  readonly id?: string | null;
  readonly name?: string | null;
  /** (default false) */
  readonly isError?: boolean;
  readonly signature?: string | null;
  /** (default false) */
  readonly redacted?: boolean;
  readonly blob?: string | null;
  readonly mediaType?: string | null;
  readonly images?: readonly PromptBlock[];
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
  readonly sharing?: { readonly [name: string]: "all" | "names" | "none" };
  readonly volunteering?: { readonly [name: string]: "off" | "on" | "selection-off" };
  readonly paused?: {
    readonly since: string;
    readonly until?: string | null;
  };
  readonly alsoAt?: readonly number[];
}

export interface GetContextManifestInput {
  /** Default: latest. */
  readonly conversation?: string;
  /** Default: last. */
  readonly message?: string;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetContextManifestOutput {
  readonly success: boolean;
  readonly data?: {
    readonly conversation: string;
    readonly message: string;
    readonly estimate?: number;
    readonly layers: ReadonlyArray<{
      readonly id: string;
      readonly tokens?: number;
      readonly stable: boolean;
      readonly entries: ReadonlyArray<{
        readonly id: string;
        readonly kind: string;
        readonly state: string;
        readonly why: string;
        readonly tokens?: number;
        /** (default false) */
        readonly cached: boolean;
        readonly detail?: string;
      }>;
    }>;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface GetCurrentNoteInput {
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Links from and to it. (default false) */
  readonly includeLinks?: boolean;
  /** Headings. (default false) */
  readonly includeOutline?: boolean;
  /** Embedded images, at most 4. (default false) */
  readonly includeImages?: boolean;
  /** At most 50000. (minimum 100, maximum 50000) */
  readonly maxContentLength?: number;
  /** A former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetCurrentNoteOutput {
  readonly success: boolean;
  readonly data?: {
    readonly id: string;
    readonly title: string;
    /** (default "note") */
    readonly type: string;
    /** (default true) */
    readonly exists: boolean;
    /** (default false) */
    readonly archived: boolean;
    readonly kind?: string;
    readonly size?: number;
    readonly language?: string;
    readonly pages?: number;
    readonly metadata?: {
      readonly tags: readonly string[];
      readonly customFields: { readonly [name: string]: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null };
      readonly created?: string;
      readonly lastModified?: string;
      /** (default 0) */
      readonly wordCount: number;
      /** (default 0) */
      readonly characterCount: number;
      readonly noteType?: {
        readonly name: string;
        readonly schema?: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null;
      };
    };
    readonly content?: string;
    readonly sha256?: string;
    readonly links?: {
      readonly outgoing: ReadonlyArray<{
        readonly target: string;
        readonly title: string;
        /** (default true) */
        readonly exists: boolean;
        readonly line: number;
        readonly id?: string;
        readonly heading?: string;
        readonly block?: string;
        readonly alias?: string;
        /** (default false) */
        readonly embed: boolean;
        readonly property?: string;
        readonly ambiguous?: boolean;
      }>;
      readonly outgoingTotal: number;
      readonly incoming: ReadonlyArray<{
        readonly source: string;
        readonly title: string;
        readonly context: string;
        readonly line: number;
        readonly heading?: string;
      }>;
      readonly incomingTotal: number;
    };
    readonly indexState?: string;
    readonly outline?: ReadonlyArray<{
      readonly level: number;
      readonly title: string;
      readonly line: number;
      readonly kind?: string;
    }>;
    readonly images?: ReadonlyArray<{
      readonly path: string;
      readonly mediaType?: string;
      readonly bytes?: number;
      readonly sha256?: string;
      readonly width?: number;
      readonly height?: number;
      readonly scaled?: boolean;
      readonly code?: string;
      readonly error?: string;
    }>;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface GetNavigationHistoryInput {
  /** Visits. (minimum 1, maximum 200, default 20) */
  readonly limit?: number;
  /** ISO 8601. (maxLength 64) */
  readonly sinceTime?: string;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetNavigationHistoryOutput {
  readonly success: boolean;
  readonly data?: {
    readonly visits: ReadonlyArray<{
      readonly id: string;
      readonly title: string;
      /** (default true) */
      readonly exists: boolean;
      readonly at: string;
      readonly until?: string;
      readonly dwellSeconds: number;
    }>;
    readonly total: number;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface GetNoteByReferenceInput {
  /** Path, title, alias, id or [[wikilink]]; with #heading or #^block that section. (minLength 1, maxLength 2048) */
  readonly reference: string;
  /** The note with the link. (minLength 1, maxLength 2048) */
  readonly from?: string;
  /** Not the section only. (default false) */
  readonly whole?: boolean;
  /** Text. (default true) */
  readonly includeContent?: boolean;
  /** Tags, dates, counts, front matter. (default false) */
  readonly includeMetadata?: boolean;
  /** Links from and to it. (default false) */
  readonly includeLinks?: boolean;
  /** Headings. (default false) */
  readonly includeOutline?: boolean;
  /** Embedded images, at most 4. (default false) */
  readonly includeImages?: boolean;
  /** Characters. (minimum 100, maximum 10000, default 3000) */
  readonly maxContentLength?: number;
  /** A former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetNoteByReferenceOutput {
  readonly success: boolean;
  readonly data?: {
    readonly id: string;
    readonly title: string;
    /** (default "note") */
    readonly type: string;
    /** (default true) */
    readonly exists: boolean;
    /** (default false) */
    readonly archived: boolean;
    readonly kind?: string;
    readonly size?: number;
    readonly language?: string;
    readonly pages?: number;
    readonly metadata?: {
      readonly tags: readonly string[];
      readonly customFields: { readonly [name: string]: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null };
      readonly created?: string;
      readonly lastModified?: string;
      /** (default 0) */
      readonly wordCount: number;
      /** (default 0) */
      readonly characterCount: number;
      readonly noteType?: {
        readonly name: string;
        readonly schema?: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null;
      };
    };
    readonly content?: string;
    readonly sha256?: string;
    readonly links?: {
      readonly outgoing: ReadonlyArray<{
        readonly target: string;
        readonly title: string;
        /** (default true) */
        readonly exists: boolean;
        readonly line: number;
        readonly id?: string;
        readonly heading?: string;
        readonly block?: string;
        readonly alias?: string;
        /** (default false) */
        readonly embed: boolean;
        readonly property?: string;
        readonly ambiguous?: boolean;
      }>;
      readonly outgoingTotal: number;
      readonly incoming: ReadonlyArray<{
        readonly source: string;
        readonly title: string;
        readonly context: string;
        readonly line: number;
        readonly heading?: string;
      }>;
      readonly incomingTotal: number;
    };
    readonly indexState?: string;
    readonly outline?: readonly GetNoteByReferenceOutputOutlineHeading[];
    readonly images?: ReadonlyArray<{
      readonly path: string;
      readonly mediaType?: string;
      readonly bytes?: number;
      readonly sha256?: string;
      readonly width?: number;
      readonly height?: number;
      readonly scaled?: boolean;
      readonly code?: string;
      readonly error?: string;
    }>;
    readonly resolvedBy: string;
    readonly section?: {
      readonly heading?: string;
      readonly level?: number;
      readonly block?: string;
      readonly startLine: number;
      readonly endLine: number;
      readonly offset: number;
    };
  } | {
    readonly candidates?: readonly GetNoteByReferenceOutputNoteName[];
    readonly near?: readonly GetNoteByReferenceOutputNoteName[];
    readonly indexState?: string;
  } | {
    readonly note: GetNoteByReferenceOutputNoteName;
    readonly outline: readonly GetNoteByReferenceOutputOutlineHeading[];
    readonly outlineTotal: number;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface GetNoteByReferenceOutputOutlineHeading {
  readonly level: number;
  readonly title: string;
  readonly line: number;
  readonly kind?: string;
}

export interface GetNoteByReferenceOutputNoteName {
  readonly id: string;
  readonly title: string;
}

export interface GetNoteDiffInput {
  /** Path or title. (minLength 1, maxLength 2048) */
  readonly reference: string;
  /** An asOfSeq. (minimum 0) */
  readonly sinceSeq?: number;
  /** ISO 8601. (maxLength 64) */
  readonly sinceTime?: string;
  /** Characters. (minimum 100, maximum 50000, default 10000) */
  readonly maxContentLength?: number;
  /** A former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetNoteDiffOutput {
  readonly success: boolean;
  readonly data?: {
    readonly id: string;
    readonly title: string;
    readonly since: {
      readonly seq: number;
      readonly at: string;
      /** (default true) */
      readonly exists: boolean;
      readonly sha256?: string;
    };
    readonly sha256: string;
    /** (default true) */
    readonly changed: boolean;
    /** (default 0) */
    readonly added: number;
    /** (default 0) */
    readonly removed: number;
    readonly diff: string;
  } | {
    readonly candidates?: readonly GetNoteDiffOutputNoteName[];
    readonly near?: readonly GetNoteDiffOutputNoteName[];
    readonly indexState?: string;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface GetNoteDiffOutputNoteName {
  readonly id: string;
  readonly title: string;
}

export interface GetRelatedNotesInput {
  /** Default: the active note. (minLength 1, maxLength 2048) */
  readonly reference?: string;
  /** Notes. (minimum 1, maximum 50, default 10) */
  readonly limit?: number;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetRelatedNotesOutput {
  readonly success: boolean;
  readonly data?: {
    readonly note: GetRelatedNotesOutputNoteName;
    readonly related: ReadonlyArray<{
      readonly id: string;
      readonly title: string;
      readonly score?: number;
      readonly reasons?: ReadonlyArray<{
        readonly kind: "linkedFrom" | "linksTo" | "openedNext" | "sharedTags" | "similarText" | "visitedTogether";
        readonly count?: number;
        readonly tags?: readonly string[];
        readonly words?: readonly string[];
      }>;
      /** (default false) */
      readonly archived: boolean;
    }>;
    readonly total: number;
  } | {
    readonly candidates?: readonly GetRelatedNotesOutputNoteName[];
    readonly near?: readonly GetRelatedNotesOutputNoteName[];
    readonly indexState?: string;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface GetRelatedNotesOutputNoteName {
  readonly id: string;
  readonly title: string;
}

export interface GetWorkspaceContextInput {
  /** The notes' text; contentRef names the list that has it. (default false) */
  readonly includeContent?: boolean;
  /** Per note. (minimum 100, maximum 10000, default 2000) */
  readonly maxContentLength?: number;
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Metadata and times of tabs, ten recents. (default false) */
  readonly includeDetails?: boolean;
  /** In all. (minimum 100, maximum 50000, default 20000) */
  readonly maxTotalLength?: number;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetWorkspaceContextOutput {
  readonly success: boolean;
  readonly data?: {
    readonly activeNote: GetWorkspaceContextOutputContextNote | null;
    readonly pinnedNotes: readonly GetWorkspaceContextOutputContextNote[];
    readonly temporaryTabs: readonly GetWorkspaceContextOutputContextNote[];
    readonly activeTabId?: string;
    readonly recentNotes: ReadonlyArray<{
      readonly id: string;
      readonly title: string;
      /** (default true) */
      readonly exists: boolean;
      readonly at: string;
    }>;
    readonly selection?: {
      readonly note: string;
      readonly startLine: number;
      readonly endLine: number;
      readonly at: string;
      readonly text?: string;
      readonly textSha256?: string;
    };
    readonly vaultInfo: {
      readonly id: string;
      readonly name: string;
      readonly path?: string;
      readonly noteCount: number | null;
      /** (default "ready") */
      readonly indexState: string;
    };
    readonly summary: {
      readonly totalNotes: number;
      readonly pinnedCount: number;
      readonly temporaryTabsCount: number;
      /** (default 0) */
      readonly contentLength: number;
      readonly lastActivity?: string;
    };
    readonly omitted: ReadonlyArray<{
      readonly id: string;
      readonly part: string;
      readonly reason: string;
    }>;
    /** (default 0) */
    readonly omittedTotal: number;
    /** (default 0) */
    readonly withheld: number;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface GetWorkspaceContextOutputContextNote {
  readonly id: string;
  readonly title: string;
  /** (default "note") */
  readonly type: string;
  /** (default true) */
  readonly exists: boolean;
  /** (default false) */
  readonly archived: boolean;
  readonly kind?: string;
  readonly size?: number;
  readonly language?: string;
  readonly pages?: number;
  readonly metadata?: {
    readonly tags: readonly string[];
    readonly customFields: { readonly [name: string]: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null };
    readonly created?: string;
    readonly lastModified?: string;
    /** (default 0) */
    readonly wordCount: number;
    /** (default 0) */
    readonly characterCount: number;
    readonly noteType?: {
      readonly name: string;
      readonly schema?: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null;
    };
  };
  readonly error?: string;
  readonly since?: string;
  readonly lastModified?: string;
  readonly pinnedAt?: string;
  readonly noteId?: string;
  readonly source?: string;
  readonly openedAt?: string;
  readonly lastAccessed?: string;
  readonly contentRef?: string;
  readonly content?: string;
  readonly sha256?: string;
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface GetWorkspaceSummaryInput {
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface GetWorkspaceSummaryOutput {
  readonly success: boolean;
  readonly data?: {
    readonly counts: {
      readonly inVault: {
        readonly notes: number;
        readonly links?: number;
      };
      readonly inWorkspace: {
        readonly pinnedCount: number;
        readonly temporaryTabsCount: number;
        readonly recentNotes: number;
        readonly missingNotes: number;
      };
      readonly inPinsAndActiveNote?: {
        readonly brokenLinks: number;
        readonly ambiguousLinks: number;
      };
      readonly inHistory: {
        readonly visits: number;
        readonly visitedNotes: number;
      };
    };
    /** (default "ready") */
    readonly indexState: string;
    readonly activity: {
      readonly recentlyVisited: readonly GetWorkspaceSummaryOutputListedNote[];
      readonly recentlyChanged: readonly GetWorkspaceSummaryOutputListedNote[];
      readonly mostVisited: readonly GetWorkspaceSummaryOutputListedNote[];
    };
    readonly topTags: { readonly [name: string]: number };
    readonly openQuestions: {
      readonly brokenLinks: readonly GetWorkspaceSummaryOutputOpenQuestion[];
      readonly ambiguousLinks: readonly GetWorkspaceSummaryOutputOpenQuestion[];
      readonly missingNotes: readonly GetWorkspaceSummaryOutputOpenQuestion[];
    };
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface GetWorkspaceSummaryOutputListedNote {
  readonly id: string;
  readonly title: string;
  /** (default true) */
  readonly exists: boolean;
  readonly at?: string;
  readonly visits?: number;
  readonly dwellSeconds?: number;
}

export interface GetWorkspaceSummaryOutputOpenQuestion {
  readonly note: string;
  readonly title: string;
  readonly target?: string;
  readonly line?: number;
  readonly listedIn?: readonly string[];
}

export interface LinkedGetCurrentNoteInput {
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Links from and to it. (default false) */
  readonly includeLinks?: boolean;
  /** Headings. (default false) */
  readonly includeOutline?: boolean;
  /** Embedded images, at most 4. (default false) */
  readonly includeImages?: boolean;
  /** At most 50000. (minimum 100, maximum 50000) */
  readonly maxContentLength?: number;
  /** A former nextOffset. (minimum 0, maximum 2147483648, default 0) */
  readonly offset?: number;
  /** me (default), here, everyone, or a person: whose machines. (minLength 1, maxLength 64, default "me") */
  readonly of?: string;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface LinkedGetCurrentNoteOutput {
  readonly success: boolean;
  readonly data?: {
    readonly id: string;
    readonly title: string;
    /** (default "note") */
    readonly type: string;
    /** (default true) */
    readonly exists: boolean;
    /** (default false) */
    readonly archived: boolean;
    readonly kind?: string;
    readonly size?: number;
    readonly language?: string;
    readonly pages?: number;
    readonly metadata?: {
      readonly tags: readonly string[];
      readonly customFields: { readonly [name: string]: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null };
      readonly created?: string;
      readonly lastModified?: string;
      /** (default 0) */
      readonly wordCount: number;
      /** (default 0) */
      readonly characterCount: number;
      readonly noteType?: {
        readonly name: string;
        readonly schema?: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null;
      };
    };
    readonly content?: string;
    readonly sha256?: string;
    readonly links?: {
      readonly outgoing: ReadonlyArray<{
        readonly target: string;
        readonly title: string;
        /** (default true) */
        readonly exists: boolean;
        readonly line: number;
        readonly id?: string;
        readonly heading?: string;
        readonly block?: string;
        readonly alias?: string;
        /** (default false) */
        readonly embed: boolean;
        readonly property?: string;
        readonly ambiguous?: boolean;
      }>;
      readonly outgoingTotal: number;
      readonly incoming: ReadonlyArray<{
        readonly source: string;
        readonly title: string;
        readonly context: string;
        readonly line: number;
        readonly heading?: string;
      }>;
      readonly incomingTotal: number;
    };
    readonly indexState?: string;
    readonly outline?: ReadonlyArray<{
      readonly level: number;
      readonly title: string;
      readonly line: number;
      readonly kind?: string;
    }>;
    readonly images?: ReadonlyArray<{
      readonly path: string;
      readonly mediaType?: string;
      readonly bytes?: number;
      readonly sha256?: string;
      readonly width?: number;
      readonly height?: number;
      readonly scaled?: boolean;
      readonly code?: string;
      readonly error?: string;
    }>;
    readonly linked: {
      readonly of: string;
      readonly person: string | null;
      readonly machine: string | null;
      readonly peersSeq: number;
      readonly machines: ReadonlyArray<{
        readonly person: string;
        readonly machine: string;
        /** (default false) */
        readonly here: boolean;
        readonly activeNote?: string;
        readonly since?: string;
        readonly heardAt?: string;
      }>;
    };
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface LinkedGetWorkspaceContextInput {
  /** The notes' text; contentRef names the list that has it. (default false) */
  readonly includeContent?: boolean;
  /** Per note. (minimum 100, maximum 10000, default 2000) */
  readonly maxContentLength?: number;
  /** Tags, dates, counts, front matter. (default true) */
  readonly includeMetadata?: boolean;
  /** Metadata and times of tabs, ten recents. (default false) */
  readonly includeDetails?: boolean;
  /** In all. (minimum 100, maximum 50000, default 20000) */
  readonly maxTotalLength?: number;
  /** me (default), here, everyone, or a person: whose machines. (minLength 1, maxLength 64, default "me") */
  readonly of?: string;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface LinkedGetWorkspaceContextOutput {
  readonly success: boolean;
  readonly data?: {
    readonly activeNote: LinkedGetWorkspaceContextOutputContextNote | null;
    readonly pinnedNotes: readonly LinkedGetWorkspaceContextOutputContextNote[];
    readonly temporaryTabs: readonly LinkedGetWorkspaceContextOutputContextNote[];
    readonly activeTabId?: string;
    readonly recentNotes: ReadonlyArray<{
      readonly id: string;
      readonly title: string;
      /** (default true) */
      readonly exists: boolean;
      readonly at: string;
    }>;
    readonly selection?: {
      readonly note: string;
      readonly startLine: number;
      readonly endLine: number;
      readonly at: string;
      readonly text?: string;
      readonly textSha256?: string;
    };
    readonly vaultInfo: {
      readonly id: string;
      readonly name: string;
      readonly path?: string;
      readonly noteCount: number | null;
      /** (default "ready") */
      readonly indexState: string;
    };
    readonly summary: {
      readonly totalNotes: number;
      readonly pinnedCount: number;
      readonly temporaryTabsCount: number;
      /** (default 0) */
      readonly contentLength: number;
      readonly lastActivity?: string;
    };
    readonly omitted: ReadonlyArray<{
      readonly id: string;
      readonly part: string;
      readonly reason: string;
    }>;
    /** (default 0) */
    readonly omittedTotal: number;
    /** (default 0) */
    readonly withheld: number;
    readonly linked: {
      readonly of: string;
      readonly person: string | null;
      readonly machine: string | null;
      readonly peersSeq: number;
      readonly machines: ReadonlyArray<{
        readonly person: string;
        readonly machine: string;
        /** (default false) */
        readonly here: boolean;
        readonly activeNote?: string;
        readonly since?: string;
        readonly heardAt?: string;
      }>;
    };
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface LinkedGetWorkspaceContextOutputContextNote {
  readonly id: string;
  readonly title: string;
  /** (default "note") */
  readonly type: string;
  /** (default true) */
  readonly exists: boolean;
  /** (default false) */
  readonly archived: boolean;
  readonly kind?: string;
  readonly size?: number;
  readonly language?: string;
  readonly pages?: number;
  readonly metadata?: {
    readonly tags: readonly string[];
    readonly customFields: { readonly [name: string]: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null };
    readonly created?: string;
    readonly lastModified?: string;
    /** (default 0) */
    readonly wordCount: number;
    /** (default 0) */
    readonly characterCount: number;
    readonly noteType?: {
      readonly name: string;
      readonly schema?: boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>> | null;
    };
  };
  readonly error?: string;
  readonly since?: string;
  readonly lastModified?: string;
  readonly pinnedAt?: string;
  readonly noteId?: string;
  readonly source?: string;
  readonly openedAt?: string;
  readonly lastAccessed?: string;
  readonly contentRef?: string;
  readonly content?: string;
  readonly sha256?: string;
  readonly truncation?: {
    readonly originalLength: number;
    readonly returnedLength: number;
    readonly nextOffset?: number;
  };
}

export interface MemoryInput {
  readonly command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename";
  /** All but rename: below /memories. */
  readonly path?: string;
  /** view: first and last line; -1: to the end. */
  readonly view_range?: readonly number[];
  /** create. (maxLength 65536) */
  readonly file_text?: string;
  /** str_replace: it must be unique. (maxLength 65536) */
  readonly old_str?: string;
  /** str_replace. (maxLength 65536) */
  readonly new_str?: string;
  /** insert: after this line; 0: first. (minimum 0, maximum 2147483648) */
  readonly insert_line?: number;
  /** insert. (maxLength 65536) */
  readonly insert_text?: string;
  /** rename. */
  readonly old_path?: string;
  /** rename. */
  readonly new_path?: string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface MemoryOutput {
  readonly success: boolean;
  readonly data?: {
    readonly command: "create" | "delete" | "insert" | "rename" | "str_replace" | "view";
    readonly path: string;
    readonly text: string;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
  readonly warnings?: readonly string[];
}

export interface SearchWorkspaceInput {
  /** Also "exact words", -word, OR, tag:x, path:x. (minLength 1, maxLength 500) */
  readonly query: string;
  /** Notes. (minimum 1, maximum 50, default 10) */
  readonly limit?: number;
  /** workspace: what is open. (default "vault") */
  readonly scope?: "vault" | "workspace";
  /** All of them. (maxItems 10) */
  readonly tags?: readonly string[];
  /** Only below this path. (maxLength 1024) */
  readonly folder?: string;
  readonly at?: number | string;
  /** (minimum 0) */
  readonly minSeq?: number;
}

export interface SearchWorkspaceOutput {
  readonly success: boolean;
  readonly data?: {
    readonly results: ReadonlyArray<{
      readonly id: string;
      readonly title: string;
      /** (default 1) */
      readonly line: number;
      /** (default "") */
      readonly snippet: string;
      readonly score: number;
      readonly heading?: string;
      readonly missing?: readonly string[];
    }>;
    readonly matched: string;
    readonly total: number;
    /** (default true) */
    readonly complete: boolean;
    /** (default "ready") */
    readonly indexState: string;
  };
  readonly error?: string;
  readonly code?: string;
  readonly message: string;
  readonly asOfSeq: number;
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
  | AnswerJudgedEvent
  | ArtifactRecordedEvent
  | ClockSteppedEvent
  | ContextFoldedEvent
  | ContextInsertedEvent
  | ContextNearLimitEvent
  | ContextPinnedEvent
  | ContextUnpinnedEvent
  | ContextVolunteeredEvent
  | ContextWithdrawnEvent
  | ConversationEndedEvent
  | ConversationStartedEvent
  | DaemonStartedEvent
  | DaemonStoppedEvent
  | EventForgottenEvent
  | LinkChangedEvent
  | LogRecoveredEvent
  | MemoryWriteEndedEvent
  | MemoryWrittenEvent
  | MessageAddedEvent
  | MessageRemovedEvent
  | MessageReplacedEvent
  | NoteArchivedEvent
  | NoteChangedEvent
  | NoteCreatedEvent
  | NoteDeletedEvent
  | NotePinnedEvent
  | NoteRenamedEvent
  | NoteShownEvent
  | NoteUnarchivedEvent
  | NoteUnpinnedEvent
  | NoteWithheldEvent
  | PauseEndedEvent
  | PauseStartedEvent
  | PinnedNotesReorderedEvent
  | PromptAnsweredEvent
  | PromptAssembledEvent
  | PromptOverlaidEvent
  | RecordForgottenEvent
  | RemoteEventsAppliedEvent
  | SelectionChangedEvent
  | SharingSetEvent
  | SummarySetEvent
  | TemporaryTabClosedEvent
  | TemporaryTabOpenedEvent
  | TemporaryTabsClearedEvent
  | TemporaryTabsExpiredEvent
  | TemporaryTabsReorderedEvent
  | ToolCalledEvent
  | UsageReportedEvent
  | VaultClosedEvent
  | VaultOpenedEvent
  | VaultSwitchedEvent
  | ViewClosedEvent
  | ViewOpenedEvent
  | VolunteeringSetEvent;

/** Parameters by the name of the method. */
export interface MethodParams {
  "workspaced/blob/put": BlobPutParams;
  "workspaced/call": CallParams;
  "workspaced/calls": CallsParams;
  "workspaced/clients": ClientsParams;
  "workspaced/context/assemble": ContextAssembleParams;
  "workspaced/context/end": ContextEndParams;
  "workspaced/context/export": ContextExportParams;
  "workspaced/context/message": ContextMessageParams;
  "workspaced/context/overlay": ContextOverlayParams;
  "workspaced/context/overlay/confirm": ContextOverlayConfirmParams;
  "workspaced/context/overlay/finished": ContextOverlayFinishedParams;
  "workspaced/context/overlay/unchanged": ContextOverlayUnchangedParams;
  "workspaced/context/pin": ContextPinParams;
  "workspaced/context/start": ContextStartParams;
  "workspaced/context/summary": ContextSummaryParams;
  "workspaced/context/unpin": ContextUnpinParams;
  "workspaced/context/usage": ContextUsageParams;
  "workspaced/hello": HelloParams;
  "workspaced/judge": JudgeParams;
  "workspaced/link/approve": LinkApproveParams;
  "workspaced/link/invite": LinkInviteParams;
  "workspaced/link/join": LinkJoinParams;
  "workspaced/link/leave": LinkLeaveParams;
  "workspaced/link/map": LinkMapParams;
  "workspaced/link/new": LinkNewParams;
  "workspaced/link/remove": LinkRemoveParams;
  "workspaced/link/status": LinkStatusParams;
  "workspaced/links": LinksParams;
  "workspaced/log": LogParams;
  "workspaced/memory/list": MemoryListParams;
  "workspaced/memory/undo": MemoryUndoParams;
  "workspaced/names": NamesParams;
  "workspaced/pause": PauseParams;
  "workspaced/publish": PublishParams;
  "workspaced/reconcile": ReconcileParams;
  "workspaced/resume": ResumeParams;
  "workspaced/share": ShareParams;
  "workspaced/share/accept": ShareAcceptParams;
  "workspaced/share/rules": ShareRulesParams;
  "workspaced/share/why": ShareWhyParams;
  "workspaced/shutdown": ShutdownParams;
  "workspaced/snapshot": SnapshotParams;
  "workspaced/state": StateParams;
  "workspaced/status": StatusParams;
  "workspaced/subscribe": SubscribeParams;
  "workspaced/unsubscribe": UnsubscribeParams;
  "workspaced/volunteer": VolunteerParams;
  "workspaced/volunteer/confirm": VolunteerConfirmParams;
  "workspaced/volunteer/editor": VolunteerEditorParams;
  "workspaced/volunteer/preview": VolunteerPreviewParams;
}

/** Arguments by the name of the tool. */
export interface ToolArguments {
  get_context_manifest: GetContextManifestInput;
  get_current_note: GetCurrentNoteInput;
  get_navigation_history: GetNavigationHistoryInput;
  get_note_by_reference: GetNoteByReferenceInput;
  get_note_diff: GetNoteDiffInput;
  get_related_notes: GetRelatedNotesInput;
  get_workspace_context: GetWorkspaceContextInput;
  get_workspace_summary: GetWorkspaceSummaryInput;
  memory: MemoryInput;
  search_workspace: SearchWorkspaceInput;
}

/** Answers by the name of the tool. */
export interface ToolOutputs {
  get_context_manifest: GetContextManifestOutput;
  get_current_note: GetCurrentNoteOutput;
  get_navigation_history: GetNavigationHistoryOutput;
  get_note_by_reference: GetNoteByReferenceOutput;
  get_note_diff: GetNoteDiffOutput;
  get_related_notes: GetRelatedNotesOutput;
  get_workspace_context: GetWorkspaceContextOutput;
  get_workspace_summary: GetWorkspaceSummaryOutput;
  memory: MemoryOutput;
  search_workspace: SearchWorkspaceOutput;
}
