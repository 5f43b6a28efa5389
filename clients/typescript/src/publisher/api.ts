/** What an editor gives the publisher, and what it gets from it. */

import type { Pause, Selection } from "../api.js";
import type { SnapshotParams } from "../types.generated.js";

/** How the user came to a note. */
export type TabSource = NonNullable<SnapshotParams["tabs"][number]["source"]>;

/** All that an editor's window shows, by absolute paths. */
export interface EditorView {
  /** The note that the user looks at; kept while what is in front is no note, until that note is closed. */
  readonly active: string | null;
  /** Whether the user is in this editor. */
  readonly focused: boolean;
  /** In their order, the active one among them or not; a daemon is told of the last 10. */
  readonly tabs: readonly { readonly path: string; readonly source?: TabSource }[];
  readonly pins: readonly string[];
  /** Whole lines of a note, from 1 on; without `text` where it is not to be told. */
  readonly selection: {
    readonly path: string;
    readonly startLine: number;
    readonly endLine: number;
    readonly text?: string;
  } | null;
}

export interface PublisherOptions {
  /** Of this window's view, as `vscode-4711-1`; at most 64 characters. */
  readonly name: string;
  /** The editor's name: the lasting source of pins made by command, and what daemons call this client. */
  readonly commands: string;
  /** Called 50 ms after `touch`; must not touch files. */
  readonly look: () => EditorView;
  /** Of the one daemon to talk to. Default: `$WORKSPACED_SOCKET`, or whoever serves the folder of a note. */
  readonly socket?: string | undefined;
  /** Told after every change of the status. */
  readonly onChange?: ((status: PublisherStatus) => void) | undefined;
}

/** What became of what the user wanted. */
export type Outcome =
  | {
      readonly ok: true;
      /** Relative to the vault; null of what concerns a whole daemon. */
      readonly note: string | null;
      /** The vault's folder; of a whole daemon its workspace. */
      readonly vault: string;
    }
  | { readonly ok: false; readonly message: string };

/** What a daemon is told of one vault. */
export interface VaultStatus {
  readonly id: string;
  readonly path: string;
  readonly active: string | null;
  /** Whether the user is in this window, with a note of this vault. */
  readonly focused: boolean;
  readonly tabs: readonly string[];
  readonly pins: readonly string[];
  readonly selection: Selection | null;
}

export interface DaemonStatus {
  readonly socket: string;
  readonly state: "connecting" | "connected" | "lost";
  /** Undefined until it answered. */
  readonly version?: string;
  readonly workspace?: string;
  /** Why it was lost, or what it refused last. */
  readonly problem?: string;
  readonly vaults: readonly VaultStatus[];
  readonly paused?: Pause;
}

/** What is told to whom. */
export interface PublisherStatus {
  readonly daemons: readonly DaemonStatus[];
  /** Open notes that no connected daemon serves: nobody is told of them. */
  readonly unserved: readonly string[];
  /** Pins, renames and deletions that wait for a daemon. */
  readonly waiting: number;
  /** What went wrong in the editor's own `look`. */
  readonly problem?: string;
}
