/**
 * The queue of requests: bounded, first in first out, also across a reconnection.
 *
 * What is retried stays in its place, so publishes are appended in the order in which they were made, however
 * often the connection broke in between. Those that were sent and not answered are always the first ones of the
 * queue.
 */

import { ClientClosed, QueueFull, TimedOut, type WorkspacedError } from "./errors.js";
import { IN_FLIGHT_MAX } from "./limits.js";
import { type Link, LinkLost, nextRequestId } from "./link.js";
import { requestLine } from "./wire.js";

export interface Bounds {
  readonly requestsMax: number;
  readonly bytesMax: number;
}

interface Entry {
  readonly id: number;
  readonly line: Buffer;
  readonly retried: boolean;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: WorkspacedError) => void;
  sent: boolean;
}

export class Outbox {
  readonly #bounds: Bounds;
  readonly #entries = new Map<number, Entry>();
  #bytes = 0;
  #inFlight = 0;
  #link: Link | undefined;
  #idle: (() => void)[] = [];

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /**
   * The result of a request, which waits for a connection if there is none.
   *
   * @param options.retried sent again where the connection breaks before the answer, instead of failing.
   * @throws RequestTooLarge, QueueFull: at once. TimedOut. NoDaemon: as above. RemoteError: refused.
   */
  submit(method: string, params: unknown, options: { timeoutMs: number; retried: boolean }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = nextRequestId();
      const line = requestLine(id, method, params);
      this.#admit(line.length);
      const timer = setTimeout(() => this.#timedOut(id, method, options.timeoutMs), options.timeoutMs);
      this.#entries.set(id, { id, line, retried: options.retried, timer, resolve, reject, sent: false });
      this.#bytes += line.length;
      this.#pump();
    });
  }

  /** Sends what waits over this connection, and everything from now on. */
  attach(link: Link): void {
    this.#link = link;
    this.#pump();
  }

  /** The connection is gone; its requests hear of it from the link itself. */
  detach(): void {
    this.#link = undefined;
  }

  /** Settles as soon as nothing waits and nothing is under way. */
  idle(): Promise<void> {
    return this.#entries.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Fails everything that is left. */
  close(): void {
    this.#link = undefined;
    for (const entry of [...this.#entries.values()]) {
      this.#remove(entry);
      entry.reject(new ClientClosed());
    }
  }

  #admit(bytes: number): void {
    const { requestsMax, bytesMax } = this.#bounds;
    if (this.#entries.size >= requestsMax) {
      throw new QueueFull(`${requestsMax} requests wait for the daemon already.`);
    }
    if (this.#bytes + bytes > bytesMax && this.#entries.size > 0) {
      throw new QueueFull(`${this.#bytes} bytes wait for the daemon already; at most ${bytesMax} may.`);
    }
  }

  #pump(): void {
    const link = this.#link;
    if (link === undefined) return;
    for (const entry of this.#entries.values()) {
      if (this.#inFlight >= IN_FLIGHT_MAX || !link.isOpen) return;
      if (!entry.sent) {
        entry.sent = true;
        this.#inFlight += 1;
        link.send(entry.id, entry.line, (error, result) => this.#answered(entry, error, result));
      }
    }
  }

  #answered(entry: Entry, error: WorkspacedError | undefined, result: unknown): void {
    if (!this.#entries.has(entry.id)) return;
    if (error instanceof LinkLost && entry.retried) {
      entry.sent = false;
      this.#inFlight -= 1;
      return;
    }
    this.#remove(entry);
    if (error === undefined) {
      entry.resolve(result);
    } else {
      entry.reject(error);
    }
    this.#pump();
  }

  #timedOut(id: number, method: string, timeoutMs: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#link?.forget(id);
    this.#remove(entry);
    entry.reject(
      new TimedOut(`The daemon did not answer ${method} within ${timeoutMs} ms.`, {
        hint: entry.sent ? "It may have been done all the same; actions with the same ids are recorded once." : "",
      }),
    );
    this.#pump();
  }

  #remove(entry: Entry): void {
    clearTimeout(entry.timer);
    this.#entries.delete(entry.id);
    this.#bytes -= entry.line.length;
    this.#inFlight -= entry.sent ? 1 : 0;
    if (this.#entries.size === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }
}
