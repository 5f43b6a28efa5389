/**
 * From an editor's events to the daemons: coalesces them, looks, finds who serves what is open, and keeps at it.
 *
 * An event only asks for a look, which comes `COALESCE_MS` later and sees everything. A look asks where files really
 * lie (paths.ts); while that is open nothing is told, since it would be half the truth. Each note goes to the daemon,
 * and there to the vault, whose folder is nearest above it; a note in no vault is told to nobody. Nothing here waits,
 * and nothing throws into the editor.
 */

import type { Client } from "../client.js";
import { Actions } from "./actions.js";
import type { EditorView, Outcome, PublisherOptions, PublisherStatus } from "./api.js";
import { Daemon, messageOf } from "./daemon.js";
import { secondsOf } from "./duration.js";
import { Finder } from "./finder.js";
import { COALESCE_MS, PATHS_WAIT_MS, PATIENCE_MS, STABLE_MS } from "./limits.js";
import { above, isAtOrBelow, isMarkdown, nearest, RealPaths } from "./paths.js";
import { isSame } from "./same.js";
import { RestingSelection } from "./selection.js";
import { located, type Located, type Place, Sight } from "./sight.js";

const NOTHING: EditorView = { active: null, focused: false, tabs: [], pins: [], selection: null };

/** One for each window of an editor. */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #paths = new RealPaths(() => this.touch());
  readonly #actions = new Actions(this.#paths, () => this.touch());
  readonly #sight = new Sight();
  readonly #selection = new RestingSelection(() => this.touch());
  readonly #finder: Finder;
  /** By socket; those that were lost stay for the status until they are connected again, or wanted no more. */
  readonly #daemons = new Map<string, Daemon>();
  /** By socket: the vaults of which its daemon was told something that was not taken back. */
  readonly #published = new Map<string, Set<string>>();
  #view: EditorView = NOTHING;
  #unserved: readonly string[] = [];
  #problem: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heldBack: ReturnType<typeof setTimeout> | undefined;
  /** That the user came back, and no view was told since. */
  #cameBack = false;
  #isStopped = false;
  #stopped: Promise<void> | undefined;
  #isTold = false;
  #told: PublisherStatus | undefined;
  #waiters: (() => void)[] = [];

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#finder = new Finder(options.socket, {
      connect: (socket) => this.#connect(socket),
      isLost: (socket) => this.#daemons.get(socket)?.isLost ?? false,
      looked: () => this.touch(),
    });
    this.touch();
  }

  /** Something may be other than it was. Cheap, never throws, never waits. */
  touch(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#look(), COALESCE_MS);
  }

  /** The editor renamed a file or a folder. Kept until a daemon took it. */
  renamed(from: string, to: string): void {
    if (!this.#isStopped) void this.#actions.add("note_renamed", from, to);
  }

  /** The user deleted a file. Of a deleted folder the daemon finds out by itself. Kept until a daemon took it. */
  deleted(path: string): void {
    if (!this.#isStopped) void this.#actions.add("note_deleted", path);
  }

  /** Pins a note for agents, under the editor's own name: it stays when the editor ends. */
  pin(path: string): Promise<Outcome> {
    return this.#act("note_pinned", path);
  }

  /** Takes a pin away, whoever pinned it. */
  unpin(path: string): Promise<Outcome> {
    return this.#act("note_unpinned", path);
  }

  /** Pauses every connected daemon, for a duration such as `30m`, for seconds, or until it is resumed. */
  async pause(duration?: string | number): Promise<readonly Outcome[]> {
    const isOpen = duration === undefined || duration === "";
    const forS = typeof duration === "string" ? secondsOf(duration) : duration;
    if (!isOpen && !(forS !== undefined && forS > 0)) {
      return [{ ok: false, message: `Expected a duration such as 45s, 30m, 1h30m or 2d, got ${duration}.` }];
    }
    return this.#all((daemon) => daemon.pause(isOpen ? undefined : forS));
  }

  /** Ends the pause of every connected daemon. */
  async resume(): Promise<readonly Outcome[]> {
    return this.#all((daemon) => daemon.resume());
  }

  /** What is told to whom. */
  status(): PublisherStatus {
    return {
      daemons: [...this.#daemons.values()].map((daemon) => daemon.status()),
      unserved: this.#unserved,
      waiting: this.#actions.count,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  /** The client of the connected daemon that serves a file or folder, for its tools and methods. */
  clientFor(path: string): Client | undefined {
    return this.#serving(path)?.client;
  }

  /** The socket of that daemon. */
  socketFor(path: string): string | undefined {
    return this.#serving(path)?.socket;
  }

  /** Settles once all that happened is told and answered, as far as anybody is there to be told. */
  async settled(): Promise<void> {
    while (this.#isBusy) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Takes the view back and ends; within a second, whatever the daemons do. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#heldBack);
    this.#timer = undefined;
    this.#selection.stop();
    this.#finder.stop();
    const daemons = [...this.#daemons.values()];
    this.#daemons.clear();
    await Promise.all(daemons.map((daemon) => daemon.bye()));
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  // -- the view --

  #look(): void {
    this.#timer = undefined;
    try {
      const seen = this.#options.look();
      const cameBack = seen.focused && !this.#view.focused;
      if (cameBack) this.#paths.forget(); // files may have moved meanwhile
      this.#view = seen;
      this.#tell(seen, cameBack);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = messageOf(error);
    }
    this.#changed();
  }

  #tell(seen: EditorView, again: boolean): void {
    const view = located({ ...seen, selection: this.#selection.of(seen) }, this.#paths);
    this.#actions.locate();
    const isBack = again || this.#cameBack;
    if (this.#isHeldBack(again)) return;
    const places = this.#places();
    this.#actions.handOn(places);
    this.#sight.remember(view);
    this.#seek(places, view);
    const views = this.#sight.views(places, view);
    for (const daemon of this.#ready()) {
      daemon.show(views.get(daemon) ?? { views: new Map(), focus: undefined }, isBack);
    }
  }

  /** Whether to wait for the disk, which looks again once it answers, or after `PATHS_WAIT_MS`: it may hang. */
  #isHeldBack(again: boolean): boolean {
    const isHeldBack = this.#paths.isWorthWaiting || this.#actions.isWorthWaiting;
    clearTimeout(this.#heldBack);
    this.#heldBack = isHeldBack ? setTimeout(() => this.touch(), PATHS_WAIT_MS) : undefined;
    this.#cameBack = isHeldBack && (this.#cameBack || again);
    return isHeldBack;
  }

  /** Looks for who might serve what nobody does, and for daemons that still show what is closed. */
  #seek(places: readonly Place<Daemon>[], view: Located): void {
    const paths = [...view.tabs.map((tab) => tab.path), ...view.pins, ...this.#actions.wanted];
    const wanted = [...new Set(view.active === null ? paths : [view.active, ...paths])];
    this.#unserved = wanted.filter((path) => isMarkdown(path) && nearest(places, path) === undefined);
    // Code lies in many folders that nobody serves: one daemon above it is enough.
    const isSeeking = this.#unserved.length > 0 || wanted.some((path) => !isMarkdown(path) && !above(places, path));
    const owed = [...this.#published].flatMap(([socket, vaults]) =>
      vaults.size > 0 && !this.#daemons.get(socket)?.isReady ? [socket] : [],
    );
    for (const [socket, daemon] of this.#daemons) {
      const isWanted = isSeeking || owed.includes(socket);
      if (daemon.isLost && !isWanted) this.#daemons.delete(socket);
    }
    this.#finder.seek(wanted, isSeeking, owed);
  }

  // -- the daemons --

  #ready(): Daemon[] {
    return [...this.#daemons.values()].filter((daemon) => daemon.isReady);
  }

  #serving(path: string): Daemon | undefined {
    const real = this.#paths.known(path) ?? path;
    const above = this.#places().filter(({ root }) => isAtOrBelow(real, root));
    return above.sort((a, b) => b.root.length - a.root.length)[0]?.of;
  }

  #places(): Place<Daemon>[] {
    return this.#ready().flatMap((daemon) => daemon.places);
  }

  #connect(socket: string): void {
    if (this.#isStopped || this.#daemons.get(socket)?.isLost === false) return;
    const published = this.#published.get(socket) ?? new Set<string>();
    this.#published.set(socket, published);
    const { name, commands } = this.#options;
    const daemon: Daemon = new Daemon({
      socket,
      name,
      commands,
      published,
      onReady: () => this.touch(),
      onChange: () => this.#changed(),
      onLost: () => {
        if (daemon.heldMs > STABLE_MS) this.#finder.again();
        if (published.size === 0) this.#published.delete(socket);
        this.touch();
      },
    });
    this.#daemons.set(socket, daemon);
  }

  async #all(tell: (daemon: Daemon) => Promise<Outcome>): Promise<readonly Outcome[]> {
    const ready = this.#ready();
    if (ready.length === 0) return [{ ok: false, message: "No daemon is connected." }];
    return Promise.all(ready.map(tell));
  }

  /** Settles once a daemon took it; after `PATIENCE_MS` it says that none did yet. */
  #act(kind: "note_pinned" | "note_unpinned", path: string): Promise<Outcome> {
    if (this.#isStopped) return Promise.resolve({ ok: false, message: "The publisher was stopped." });
    return new Promise((resolve) => {
      const message = `No daemon took ${path} yet; it is told once one does.`;
      const timer = setTimeout(() => resolve({ ok: false, message }), PATIENCE_MS);
      void this.#actions.add(kind, path).then((outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      });
    });
  }

  // -- who watches --

  /** Whether something is still to be looked at, told or answered. */
  get #isBusy(): boolean {
    const isTelling = this.#timer !== undefined || this.#selection.isMoving || this.#finder.isLooking;
    const isAsking = this.#paths.isBusy || this.#actions.isBusy || this.#actions.isUnderWay;
    const isConnecting = [...this.#daemons.values()].some((daemon) => daemon.isBusy);
    return !this.#isStopped && (isTelling || isAsking || isConnecting);
  }

  /** Tells who watches, once a turn. */
  #changed(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    queueMicrotask(() => {
      this.#isTold = false;
      if (this.#isStopped) return;
      if (!this.#isBusy) for (const resolve of this.#waiters.splice(0)) resolve();
      const status = this.status();
      if (isSame(status, this.#told)) return;
      this.#told = status;
      try {
        this.#options.onChange?.(status);
      } catch (error) {
        this.#problem = messageOf(error);
      }
    });
  }
}
