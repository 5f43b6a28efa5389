/**
 * A UI's whole view, kept true at the daemon.
 *
 * Editors raise many events for one click, and their states in between are nonsense. So the UI recomputes its
 * whole view at any event and hands it over; what is handed over within one turn of the loop goes out once, the
 * last one, and only if it differs from the one sent last. The daemon compares it with its state and
 * appends what differs.
 */

import { isDeepStrictEqual } from "node:util";

import { ClientClosed, TimedOut, type WorkspacedError } from "./errors.js";
import { BUSY_RETRY_MS } from "./limits.js";
import { type Link, LinkLost } from "./link.js";
import type { Receipt, View } from "./api.js";
import type { SnapshotParams } from "./types.generated.js";

interface Waiter {
  readonly version: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (receipts: readonly Receipt[]) => void;
  readonly reject: (error: WorkspacedError) => void;
}

export class ViewSender {
  readonly #source: string;
  readonly #onUnheard: (error: WorkspacedError) => void;
  #link: Link | undefined;
  #wanted: { readonly version: number; readonly params: SnapshotParams } | undefined;
  /** What the daemon took last, on this connection. */
  #taken: { readonly version: number; readonly params: SnapshotParams } | undefined;
  #refused = 0;
  #again = false;
  #sending = false;
  #scheduled = false;
  #onAnswer: () => void = () => {};
  #retry: NodeJS.Timeout | undefined;
  #waiters: Waiter[] = [];
  #idle: (() => void)[] = [];

  /** @param onUnheard gets a refusal that no caller waits for: of a view sent again after a reconnection. */
  constructor(source: string, onUnheard: (error: WorkspacedError) => void) {
    this.#source = source;
    this.#onUnheard = onUnheard;
  }

  /**
   * Makes this the view; settles once the daemon has it or a later one, with what was appended for it.
   *
   * @param again sends it even if it is the same as before.
   */
  show(view: View, again: boolean, timeoutMs: number): Promise<readonly Receipt[]> {
    const { active, pins = [], tabs = [], vault, focused, selection } = view;
    const params: SnapshotParams = structuredClone({
      source: this.#source,
      active,
      pins,
      tabs,
      ...(vault === undefined ? {} : { vault }),
      ...(focused === undefined ? {} : { focused }),
      ...(selection === undefined ? {} : { selection }),
    });
    const version = (this.#wanted?.version ?? 0) + 1;
    this.#wanted = { version, params };
    this.#again ||= again;
    const shown = new Promise<readonly Receipt[]>((resolve, reject) => {
      const timer = setTimeout(() => this.#timedOut(version, timeoutMs), timeoutMs);
      this.#waiters.push({ version, timer, resolve, reject });
    });
    shown.catch(() => {}); // a UI need not wait: the view goes out when it can
    this.#schedule();
    return shown;
  }

  /** Sends the view over a new connection; settles once it was answered, also by a refusal. */
  attach(link: Link): Promise<void> {
    this.#link = link;
    this.#taken = undefined;
    this.#refused = 0;
    return new Promise((resolve) => {
      this.#onAnswer = resolve;
      this.#flush();
      if (!this.#sending) resolve();
    });
  }

  detach(): void {
    this.#link = undefined;
    clearTimeout(this.#retry);
  }

  /** Settles as soon as nothing is to be sent. */
  idle(): Promise<void> {
    return this.#waiters.length === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  close(): void {
    this.detach();
    this.#settle(Infinity, (waiter) => waiter.reject(new ClientClosed()));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const [link, wanted] = [this.#link, this.#wanted];
    if (!link?.isOpen || wanted === undefined || this.#sending || wanted.version === this.#refused) return;
    const { params } = wanted;
    if (this.#taken !== undefined && !this.#again && isDeepStrictEqual(this.#taken.params, params)) {
      this.#settle(wanted.version, (waiter) => waiter.resolve([]));
      return;
    }
    this.#sending = true;
    this.#again = false;
    const answered = this.#onAnswer;
    link.request("workspaced/snapshot", params, (error, result) => {
      this.#sending = false;
      if (error === undefined) {
        this.#taken = link === this.#link ? { version: wanted.version, params } : undefined;
        const { events } = result as { events: readonly Receipt[] };
        this.#settle(wanted.version, (waiter) => waiter.resolve(events));
        this.#flush();
      } else if (error instanceof LinkLost) {
        this.#flush();
      } else if (error.code === "BUSY") {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#flush(), error.retryAfterMs ?? BUSY_RETRY_MS);
      } else {
        this.#refuse(wanted.version, error);
      }
      answered();
    });
  }

  #refuse(version: number, error: WorkspacedError): void {
    this.#refused = version;
    if (this.#settle(version, (waiter) => waiter.reject(error)) === 0) {
      this.#onUnheard(error);
    }
    this.#flush();
  }

  #timedOut(version: number, timeoutMs: number): void {
    const error = new TimedOut(`The daemon did not take the view within ${timeoutMs} ms.`, {
      hint: "The last view goes out as soon as the daemon answers again.",
    });
    this.#settle(version, (waiter) => waiter.reject(error));
  }

  /** Settles those who wait for this version or one before it; returns how many. */
  #settle(version: number, settle: (waiter: Waiter) => void): number {
    const settled = this.#waiters.filter((waiter) => waiter.version <= version);
    this.#waiters = this.#waiters.filter((waiter) => waiter.version > version);
    for (const waiter of settled) {
      clearTimeout(waiter.timer);
      settle(waiter);
    }
    if (this.#waiters.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
    return settled.length;
  }
}
