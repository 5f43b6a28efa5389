/**
 * One connection to a daemon: keeps its picture of this editor equal to the newest view. It ends once; who wants
 * another one makes it anew.
 *
 * At most one snapshot of a vault is on its way, and a newer view takes the place of the one that waits: a daemon
 * that is stopped costs one small write, and memory for one view.
 */

import type { Pause } from "../api.js";
import { Client } from "../client.js";
import { WorkspacedError } from "../errors.js";
import type { Action } from "../types.generated.js";
import type { ActionKind, Taker } from "./actions.js";
import type { DaemonStatus, Outcome } from "./api.js";
import { BATCH_ACTIONS_MAX } from "./limits.js";
import { isSame } from "./same.js";
import { type DaemonView, emptyView, type Place, type VaultView } from "./sight.js";

export interface DaemonOptions {
  readonly socket: string;
  /** The source of the view. */
  readonly name: string;
  /** The source of pins made by command. */
  readonly commands: string;
  /** Paths of vaults about which this daemon has something; outlasts the connection. */
  readonly published: Set<string>;
  /** It is ready, or must be shown the view again. */
  readonly onReady: () => void;
  /** It answered, was paused, refused: the status is another one. */
  readonly onChange: () => void;
  /** It ended, or never began. */
  readonly onLost: (problem: string) => void;
}

export class Daemon implements Taker {
  readonly socket: string;
  readonly client: Client;
  readonly #options: DaemonOptions;
  readonly #shown = new Map<string, VaultView>();
  #state: DaemonStatus["state"] = "connecting";
  #problem: string | undefined;
  /** The vault that is current at the daemon, where it has several; agents are answered from that one. */
  #current: string | undefined;
  #asksCurrent = false;
  #unanswered = 0;
  #readyAt = 0;

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.socket = options.socket;
    this.client = new Client({
      socket: options.socket,
      name: options.commands,
      source: options.name,
      onConnection: (state) => this.#connectionIs(state),
      onPaused: () => options.onChange(),
      onError: (error) => this.#failed(error),
    });
    void this.client.open().catch((error: unknown) => this.#lose(messageOf(error)));
  }

  get isReady(): boolean {
    return this.#state === "connected";
  }

  get isLost(): boolean {
    return this.#state === "lost";
  }

  /** For how long it has been connected. */
  get heldMs(): number {
    return this.#readyAt === 0 ? 0 : performance.now() - this.#readyAt;
  }

  /** Whether it owes an answer. */
  get isBusy(): boolean {
    return this.#state === "connecting" || (this.#state === "connected" && this.#unanswered > 0);
  }

  /** The folders that it serves. */
  get places(): Place<Daemon>[] {
    const vaults = this.isReady ? (this.client.server?.vaults ?? []) : [];
    return vaults.map(({ id, path }) => ({ root: path, vaultId: id, of: this }));
  }

  /** Shows a view from now on; vaults it does not name show nothing. */
  show({ views, focus }: DaemonView, again: boolean): void {
    const places = this.places;
    if (again) this.#current = undefined; // another editor may have made another vault current
    const isIn = focus !== undefined && views.get(focus)?.focused === true;
    if (places.length > 1 && isIn && !this.#isCurrent(focus)) return;
    for (const { vaultId, root } of places) {
      const view = views.get(vaultId) ?? emptyView();
      this.#showVault(vaultId, root, view, again && view.active !== null && view.focused);
    }
  }

  async act(kind: ActionKind, actions: readonly Action[]): Promise<{ problem?: string; retry?: boolean }> {
    // Unpinning leaves a tab behind, which is to be this window's: the next view closes it where nothing shows it.
    const source = kind === "note_pinned" ? this.#options.commands : this.#options.name;
    try {
      for (let at = 0; at < actions.length; at += BATCH_ACTIONS_MAX) {
        await this.#answered(this.client.publish(actions.slice(at, at + BATCH_ACTIONS_MAX), { source }));
      }
      this.#shown.clear(); // what it shows may be other than what it was told
      return {};
    } catch (error) {
      return isPassing(error) ? { retry: true } : { problem: messageOf(error) };
    }
  }

  async pause(forS: number | undefined): Promise<Outcome> {
    return this.#outcome(this.client.pause(forS === undefined ? {} : { forS }));
  }

  async resume(): Promise<Outcome> {
    return this.#outcome(this.client.resume());
  }

  /** Takes the view back and ends, within the client's own bound. */
  async bye(): Promise<void> {
    for (const { vaultId, root } of this.places) this.#showVault(vaultId, root, emptyView(), false);
    await this.end();
  }

  async end(): Promise<void> {
    this.#state = "lost";
    await this.client.close();
  }

  status(): DaemonStatus {
    const server = this.client.server;
    const paused: Pause | undefined = this.client.paused;
    return {
      socket: this.socket,
      state: this.#state,
      ...(server === undefined ? {} : { version: server.version, workspace: server.workspace }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      ...(paused === undefined ? {} : { paused }),
      vaults: this.places.map(({ vaultId, root }) => {
        const { tabs, ...view } = this.#shown.get(vaultId) ?? emptyView();
        return { id: vaultId, path: root, ...view, tabs: tabs.map(({ note }) => note) };
      }),
    };
  }

  // -- the view --

  /** "Nothing is open" is not told of a vault of which nothing was told: an editor without notes leaves no event. */
  #showVault(id: string, root: string, view: VaultView, again: boolean): void {
    const { published } = this.#options;
    const isEmpty = view.active === null && view.tabs.length === 0 && view.pins.length === 0;
    if (isEmpty && !published.has(root)) return;
    const isAgain = again || !this.#shown.has(id);
    if (!isAgain && isSame(this.#shown.get(id), view)) return;
    this.#shown.set(id, view);
    published.add(root);
    const { active, pins, tabs, focused, selection } = view;
    const shown = this.client.show({ vault: id, active, pins, tabs, focused, selection }, { again: isAgain });
    void this.#answered(shown).then(
      () => {
        this.#problem = undefined;
        if (isEmpty && this.#shown.get(id) === view) published.delete(root);
      },
      (error: unknown) => this.#failed(error),
    );
  }

  /** Makes the vault current where it is not; false while that is under way. */
  #isCurrent(vault: string): boolean {
    if (this.#current === vault) return true;
    if (!this.#asksCurrent) {
      this.#asksCurrent = true;
      void this.#answered(this.#switch(vault))
        .catch((error: unknown) => {
          this.#current = vault; // refused: the view is told all the same
          this.#failed(error);
        })
        .then(this.#options.onReady);
    }
    return false;
  }

  async #switch(vault: string): Promise<void> {
    try {
      this.#current ??= (await this.client.state()).currentVaultId ?? undefined;
      if (this.#current !== vault) {
        await this.client.publish([{ type: "vault_switched", data: { vaultId: vault }, vault }]);
        this.#shown.clear(); // its active note is none now
        this.#current = vault;
      }
    } finally {
      this.#asksCurrent = false;
    }
  }

  // -- the connection --

  #connectionIs(state: string): void {
    if (this.#state === "lost") return;
    if (state === "connected") {
      if (!Array.isArray(this.client.server?.vaults)) {
        this.#lose("What listens there is no workspaced daemon.");
        return;
      }
      this.#state = "connected";
      this.#readyAt = performance.now();
      this.#options.onReady();
    } else {
      this.#lose(this.#problem ?? "The daemon went away.");
    }
  }

  #lose(problem: string): void {
    if (this.#state === "lost") return;
    this.#problem = problem;
    void this.end();
    this.#options.onLost(problem);
  }

  #failed(error: unknown): void {
    this.#problem = messageOf(error);
    this.#options.onChange();
  }

  async #answered<Result>(request: Promise<Result>): Promise<Result> {
    this.#unanswered += 1;
    try {
      return await request;
    } finally {
      this.#unanswered -= 1;
      queueMicrotask(this.#options.onChange); // after who waits for the answer
    }
  }

  async #outcome(request: Promise<unknown>): Promise<Outcome> {
    try {
      await this.#answered(request);
      return { ok: true, note: null, vault: this.client.server?.workspace ?? this.socket };
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  }
}

/** Errors after which the same action may be taken a moment later; every other one is a refusal for good. */
const PASSING: readonly string[] = ["BUSY", "NO_DAEMON", "TIMEOUT", "CLOSED", "QUEUE_FULL"];

function isPassing(error: unknown): boolean {
  return error instanceof WorkspacedError && PASSING.includes(error.code);
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof WorkspacedError && error.hint !== "" ? `${error.message} ${error.hint}` : error.message;
}
