/** What goes in and comes out, beyond what the schemas say. */

import type { WorkspacedError } from "./errors.js";
import type {
  ContextAssembleParams,
  MethodParams,
  Prompt,
  ShareParams,
  SnapshotParams,
  ToolArguments,
  ToolOutputs,
  WorkspaceEvent,
  WorkspaceState,
} from "./types.generated.js";

/** Names a moment of one log: `<log id>:<seq>`. */
export type Clock = string;

/** Which daemon is meant; see docs/reference/discovery.md. */
export interface Target {
  /** The path of its socket. */
  readonly socket?: string | undefined;
  /** The name of its workspace. */
  readonly workspace?: string | undefined;
  /** A folder that it serves, or one below such a folder. */
  readonly folder?: string | undefined;
}

export type ConnectionState = "connected" | "reconnecting" | "closed";

export interface ConnectOptions extends Target {
  /** What the daemon calls this client, 1 to 64 characters: the source of its events. Default: `typescript`. */
  readonly name?: string | undefined;
  /** The source of its events, 1 to 64 characters, where it is another one. Default: `name`. */
  readonly source?: string | undefined;
  /** For connecting, and for each answer. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Connects later if no daemon runs, instead of failing with NO_DAEMON. Default: false. */
  readonly waitForDaemon?: boolean | undefined;
  /** Requests that may wait or be under way; one more fails with QUEUE_FULL. Default: 1,000. */
  readonly queuedRequestsMax?: number | undefined;
  /** Bytes of them. Default: 16 MiB. */
  readonly queuedBytesMax?: number | undefined;
  /** Told of every change of the connection. */
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  /** Told when the workspace is paused, gets another end, or is resumed (undefined); by whomever. */
  readonly onPaused?: ((paused: Pause | undefined) => void) | undefined;
  /** Told of what no caller waits for. Default: a process warning. */
  readonly onError?: ((error: WorkspacedError) => void) | undefined;
}

/** While it lasts nothing of what the user does is recorded, and agents are answered nothing. */
export interface Pause {
  readonly since: string;
  /** When it ends by itself; absent: the user ends it. */
  readonly until?: string;
}

/** A UI's whole view of a vault. */
export interface View {
  /** What the user looks at: a path relative to the vault. */
  readonly active: string | null;
  /** In their order. Default: none. */
  readonly pins?: SnapshotParams["pins"];
  /** In their order; the daemon keeps the last 10. Default: none. */
  readonly tabs?: SnapshotParams["tabs"];
  /** Default: the current one. */
  readonly vault?: string;
  /**
   * Whether the user is in this UI; a view without the focus never takes the active note from another UI. Default:
   * true.
   */
  readonly focused?: boolean;
  /** The lines selected in the active note, from 1 on; null: nothing is selected. Default: not told. */
  readonly selection?: Selection | null;
}

/** Selected lines of a note, from 1 on. */
export interface Selection {
  readonly startLine: number;
  readonly endLine: number;
  readonly text?: string;
}

/** What became of one action. */
export interface Receipt {
  readonly seq: number;
  readonly id: string;
  /** It had been recorded before. */
  readonly duplicate: boolean;
}

export interface ServerInfo {
  readonly version: string;
  /** Another one after every start of the daemon. */
  readonly instance: string;
  readonly workspace: string;
  readonly vaults: ReadonlyArray<{ readonly id: string; readonly path: string }>;
  readonly limits: Readonly<
    Record<"requestBytes" | "answerBytes" | "batchActions" | "batchBytes" | "inFlight", number>
  >;
  readonly paused: Pause | null;
  readonly clock: Clock;
}

/** What became of actions. */
export interface Published {
  /** None while the workspace is paused. */
  readonly events: readonly Receipt[];
  readonly clock: Clock;
  readonly durability: string;
  /** The daemon holds the actions until the pause ends. */
  readonly paused?: true;
}

/** What a method answers that only records. */
export interface Recorded {
  readonly clock: Clock;
}

/** A conversation as Markdown. */
export interface Exported extends Recorded {
  readonly text: string;
  /** The number of parts left out because they name withheld notes. */
  readonly withheld: number;
}

/** What is put into a request to a provider. */
export interface Overlay extends Recorded {
  /** Texts, and the turns before whose words they go. */
  readonly insertions: ReadonlyArray<{ readonly turn: string; readonly text: string }>;
  /** Confirms them; null: there are none. */
  readonly token: string | null;
  /** Why there is nothing new. */
  readonly reason: string | null;
}

/** A purpose of a prompt. */
export type Pipeline = NonNullable<ContextAssembleParams["pipeline"]>;

/** What the methods answer, by their names. */
export interface MethodResults {
  /** With `sha256` once the text is complete. */
  "workspaced/blob/put": { readonly bytes: number; readonly sha256?: string };
  "workspaced/context/assemble": Prompt;
  "workspaced/context/end": Recorded;
  "workspaced/context/export": Exported;
  /** Ids of the messages, in their order. */
  "workspaced/context/message": Recorded & { readonly messages: readonly string[] };
  "workspaced/context/overlay": Overlay;
  /** False: the offer is not known any more. */
  "workspaced/context/overlay/confirm": { readonly recorded: boolean };
  "workspaced/context/overlay/finished": { readonly recorded: boolean; readonly reason: string | null };
  "workspaced/context/pin": Recorded;
  "workspaced/context/start": Recorded & { readonly conversation: string };
  "workspaced/context/summary": Recorded;
  "workspaced/context/unpin": Recorded;
  "workspaced/context/usage": Recorded;
  "workspaced/hello": ServerInfo;
  "workspaced/log": { readonly events: readonly WorkspaceEvent[]; readonly clock: Clock };
  "workspaced/pause": { readonly paused: Pause | null; readonly clock: Clock };
  "workspaced/publish": Published;
  "workspaced/reconcile": Readonly<Record<string, unknown>>;
  "workspaced/resume": { readonly paused: Pause | null; readonly clock: Clock };
  "workspaced/share": ShareParams & { readonly level: "all" | "names" | "none"; readonly clock: Clock };
  "workspaced/shutdown": Readonly<Record<string, never>>;
  "workspaced/snapshot": Published;
  "workspaced/state": { readonly state: WorkspaceState; readonly clock: Clock };
  "workspaced/status": Readonly<Record<string, unknown>>;
}

/** Methods for `request`; a subscription belongs to `subscribe`, which keeps it up. */
export type MethodName = keyof MethodParams & keyof MethodResults;

export type ToolName = keyof ToolArguments & keyof ToolOutputs;

/** A tool's answer; where `success` is false `code` and `error` say why, and `message` what to try next. */
export type ToolAnswer<Name extends ToolName> = ToolOutputs[Name] & {
  readonly error?: string;
  readonly code?: string;
};

export type EventType = WorkspaceEvent["type"];

export interface SubscribeOptions {
  /** After which moment to begin. Default: now. */
  readonly since?: Clock | number | undefined;
  /** Only these. Default: all. */
  readonly types?: readonly EventType[] | undefined;
  /** Events held for a slow reader; beyond that the daemon holds them. Default: 10,000. */
  readonly queuedEventsMax?: number | undefined;
}

/** What a subscription tells. */
export type Notice =
  | {
      readonly kind: "events";
      readonly events: readonly WorkspaceEvent[];
      /** Resume with it, and nothing is missed. */
      readonly clock: Clock;
    }
  | {
      /** The reader was too far behind: these sequences are not sent. Read the state again, or the log. */
      readonly kind: "gap";
      readonly from: number;
      readonly to: number;
      readonly clock: Clock;
    }
  | {
      /** `since` named another log: forget what you know, every event follows from the first. */
      readonly kind: "fresh";
      readonly clock: Clock;
    };
