/** Looks for daemons that serve what is open: at once when something new is, then with growing pauses. */

import { homedir } from "node:os";

import { recordedDaemons } from "../discovery.js";
import { PATHS_MAX, RETRY_FIRST_MS, RETRY_MAX_MS } from "./limits.js";
import { nearest, type Served } from "./paths.js";

export interface Seeker {
  /** Connects, if it is not connected. */
  connect(socket: string): void;
  /** Whether the last connection could not be made, or broke. */
  isLost(socket: string): boolean;
  /** Called after every look, whatever was found: `seek` then decides about the next one. */
  looked(): void;
}

interface Recorded extends Served {
  readonly socket: string;
}

export class Finder {
  readonly #socket: string | undefined;
  readonly #seeker: Seeker;
  /** Real paths that were looked for. */
  readonly #sought = new Set<string>();
  #wanted: readonly string[] = [];
  #owed: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLooking = false;
  #isStopped = false;
  #pauseMs = RETRY_FIRST_MS;

  /** @param socket of the only daemon that is meant. */
  constructor(socket: string | undefined, seeker: Seeker) {
    const named = socket || process.env["WORKSPACED_SOCKET"] || undefined;
    this.#socket = named?.replace(/^~(?=\/)/, homedir());
    this.#seeker = seeker;
  }

  /** Whether it looks at this moment. */
  get isLooking(): boolean {
    return this.#isLooking;
  }

  /**
   * @param wanted the real paths of all that is open.
   * @param unserved whether some of it has no connected daemon.
   * @param owed sockets of daemons that are not connected and still show something of this editor.
   */
  seek(wanted: readonly string[], unserved: boolean, owed: readonly string[]): void {
    this.#wanted = wanted;
    this.#owed = owed;
    if (wanted.some((path) => !this.#sought.has(path))) {
      this.again();
      void this.#find();
    } else if ((unserved || owed.length > 0) && this.#timer === undefined && !this.#isLooking) {
      this.#timer = setTimeout(() => void this.#find(), this.#pauseMs);
    } else if (!unserved && owed.length === 0) {
      this.#stopTimer();
    }
  }

  /** Begins with the first pause again. */
  again(): void {
    this.#pauseMs = RETRY_FIRST_MS;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #find(): Promise<void> {
    this.#stopTimer();
    if (this.#isLooking || this.#isStopped) return;
    this.#pauseMs = Math.min(this.#pauseMs * 2, RETRY_MAX_MS);
    if (this.#sought.size > PATHS_MAX) this.#sought.clear();
    for (const path of this.#wanted) this.#sought.add(path);
    this.#isLooking = true;
    const found = await this.#sockets(this.#wanted).catch(() => []);
    this.#isLooking = false;
    if (this.#isStopped) return;
    for (const socket of new Set([...found, ...this.#owed])) this.#seeker.connect(socket);
    this.#seeker.looked();
  }

  async #sockets(wanted: readonly string[]): Promise<string[]> {
    if (this.#socket !== undefined) return [this.#socket];
    const records = await recordedDaemons();
    const places = records.flatMap(({ vaults, socket }) => vaults.map((root) => ({ root, socket })));
    return wanted.flatMap((path) => this.#above(places, path));
  }

  /**
   * The daemon nearest above a path. A record is a hint: after one that could not be reached comes the next one; it
   * is tried again all the same.
   */
  #above(places: readonly Recorded[], path: string): string[] {
    const found = nearest(places, path)?.place.socket;
    if (found === undefined) return [];
    if (!this.#seeker.isLost(found)) return [found];
    const others = places.filter(({ socket }) => socket !== found);
    return [found, ...this.#above(others, path)];
  }
}
