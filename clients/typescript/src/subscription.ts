/**
 * The events of a workspace, as they come; they go on after a reconnection where they broke off.
 *
 * What the reader has not taken is held here up to a bound. Beyond it the subscription is given up at the daemon,
 * and taken up again by its clock once the reader has caught up: nothing is lost, nothing grows. A reader that is
 * more than the daemon's bound behind (10,000 events) gets a gap.
 */

import type { Clock, Notice, SubscribeOptions } from "./api.js";
import { ClientClosed, TimedOut, type WorkspacedError } from "./errors.js";
import { QUEUED_EVENTS_MAX } from "./limits.js";
import { type Link, LinkLost } from "./link.js";
import type { WorkspaceEvent } from "./types.generated.js";
import type { RawNotice } from "./wire.js";

/** The open subscriptions of a connection, by the daemon's number. */
export type Routes = Map<string, Subscription>;

interface Made {
  readonly subscription: string;
  readonly clock: Clock;
  readonly freshInstance: boolean;
}

/** Parameters of the daemon's notices. */
interface Told {
  readonly clock: Clock;
  readonly events: readonly WorkspaceEvent[];
  readonly from: number;
  readonly to: number;
}

export class Subscription implements AsyncIterableIterator<Notice, undefined> {
  readonly #options: SubscribeOptions;
  readonly #routes: Routes;
  readonly #onEnd: (subscription: Subscription) => void;
  readonly #queue: Notice[] = [];
  #queuedEvents = 0;
  #readers: { resolve: (result: IteratorResult<Notice, undefined>) => void; reject: (error: Error) => void }[] =
    [];
  #link: Link | undefined;
  #number: string | undefined;
  #starting = false;
  #received: Clock | number | undefined;
  #taken: Clock | undefined;
  #ended = false;
  #error: WorkspacedError | undefined;
  #settleStarted: ((error?: WorkspacedError) => void) | undefined;

  /** @internal For the client; see its `subscribe`. */
  constructor(options: SubscribeOptions, routes: Routes, onEnd: (subscription: Subscription) => void) {
    this.#options = options;
    this.#routes = routes;
    this.#onEnd = onEnd;
    this.#received = options.since;
  }

  /** The moment up to which the reader has taken everything; give it as `since` to go on from there. */
  get clock(): Clock | undefined {
    return this.#taken;
  }

  /** Whether the reader is so far behind that the daemon holds what follows. */
  get isBehind(): boolean {
    return !this.#ended && this.#link !== undefined && this.#number === undefined && !this.#starting;
  }

  /** The next notice, once there is one; `done` when the subscription or the client was closed. */
  next(): Promise<IteratorResult<Notice, undefined>> {
    const notice = this.#queue.shift();
    if (notice === undefined) {
      if (this.#error !== undefined) return Promise.reject(this.#error);
      if (this.#ended) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    }
    this.#queuedEvents -= weight(notice);
    this.#taken = notice.clock;
    if (this.isBehind && this.#queuedEvents * 2 <= this.#bound) this.#start();
    return Promise.resolve({ done: false, value: notice });
  }

  /** Ends it; what was not taken is dropped. */
  return(): Promise<IteratorResult<Notice, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends it; what was not taken is dropped. */
  close(): void {
    this.#stop();
    this.#queue.length = 0;
    this.end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // -- for the client --

  /** @internal Settles when the daemon has taken the subscription. */
  started(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.end(new TimedOut(`The daemon did not answer workspaced/subscribe within ${timeoutMs} ms.`));
      }, timeoutMs);
      this.#settleStarted = (error) => {
        clearTimeout(timer);
        this.#settleStarted = undefined;
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  }

  /** @internal Goes on over a new connection. */
  attach(link: Link): void {
    this.#link = link;
    if (this.#queuedEvents < this.#bound) this.#start();
  }

  /** @internal The connection is gone. */
  detach(): void {
    this.#link = undefined;
    this.#number = undefined;
  }

  /** @internal No more comes; what was not taken can still be taken, then the error is thrown. */
  end(error?: WorkspacedError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = this.#settleStarted === undefined ? error : undefined;
    this.#settleStarted?.(error ?? new ClientClosed());
    for (const reader of this.#readers.splice(0)) {
      if (this.#error !== undefined) reader.reject(this.#error);
      else reader.resolve({ done: true, value: undefined });
    }
    this.#onEnd(this);
  }

  /** @internal Takes what the daemon sent for this subscription. */
  take(raw: RawNotice): void {
    const { clock, events, from, to } = raw.params as unknown as Told;
    if (raw.method === "workspaced/event") {
      this.#push({ kind: "events", events, clock });
    } else if (raw.method === "workspaced/gap") {
      this.#push({ kind: "gap", from, to, clock });
    }
  }

  get #bound(): number {
    return this.#options.queuedEventsMax ?? QUEUED_EVENTS_MAX;
  }

  #start(): void {
    const link = this.#link;
    if (!link?.isOpen || this.#ended || this.#starting || this.#number !== undefined) return;
    this.#starting = true;
    const { types } = this.#options;
    const since = this.#received === undefined ? {} : { since: this.#received };
    const params = { ...since, ...(types === undefined ? {} : { types }) };
    link.request("workspaced/subscribe", params, (error, result) => {
      this.#starting = false;
      if (error === undefined) this.#started(link, result as Made);
      else if (error instanceof LinkLost) this.#start();
      else this.end(error);
    });
  }

  #started(link: Link, made: Made): void {
    if (this.#ended || link !== this.#link) {
      link.request("workspaced/unsubscribe", { subscription: made.subscription }, () => {});
      return;
    }
    this.#number = made.subscription;
    this.#routes.set(made.subscription, this);
    const log = made.clock.slice(0, made.clock.lastIndexOf(":"));
    const isFirst = this.#received === undefined;
    if (isFirst) this.#received = made.clock;
    else if (made.freshInstance) this.#received = `${log}:0`;
    else if (typeof this.#received === "number") this.#received = `${log}:${this.#received}`;
    this.#taken ??= String(this.#received);
    this.#settleStarted?.();
    if (made.freshInstance && !isFirst) this.#push({ kind: "fresh", clock: `${log}:0` });
  }

  #push(notice: Notice): void {
    this.#received = notice.clock;
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      this.#taken = notice.clock;
      reader.resolve({ done: false, value: notice });
      return;
    }
    this.#queue.push(notice);
    this.#queuedEvents += weight(notice);
    if (this.#queuedEvents >= this.#bound) this.#stop();
  }

  /** Gives the subscription up at the daemon. */
  #stop(): void {
    if (this.#number === undefined) return;
    this.#routes.delete(this.#number);
    this.#link?.request("workspaced/unsubscribe", { subscription: this.#number }, () => {});
    this.#number = undefined;
  }
}

/** What a notice counts for the bound. */
function weight(notice: Notice): number {
  return notice.kind === "events" ? notice.events.length : 1;
}
