/** Pins, renames and deletions: kept until a daemon took them, each under one id, so that none is recorded twice. */

import { newId } from "../ids.js";
import type { Action } from "../types.generated.js";
import type { Outcome } from "./api.js";
import { ACTIONS_MAX, PATHS_WAIT_MS, RENAMED_NOTES_MAX } from "./limits.js";
import { isMarkdown, nearest, noteIn, notesBelow, type RealPaths } from "./paths.js";
import type { Place } from "./sight.js";

export type ActionKind = "note_pinned" | "note_unpinned" | "note_renamed" | "note_deleted";

/** Who takes actions: a connected daemon. */
export interface Taker {
  /** Fulfils when it took them, `retry` when they are to be handed on again. */
  act(kind: ActionKind, actions: readonly Action[]): Promise<{ problem?: string; retry?: boolean }>;
}

interface Waiting {
  readonly kind: ActionKind;
  readonly path: string;
  readonly to: string | undefined;
  readonly settle: (outcome: Outcome) => void;
  /** What is below a renamed folder; undefined while that is not known. */
  below: readonly string[] | undefined;
  real: string | null | undefined;
  realTo: string | null | undefined;
  /** By the path below the folder, or "" for the file itself. */
  readonly ids: Map<string, string>;
  readonly at: number;
  isSent: boolean;
}

export class Actions {
  readonly #paths: RealPaths;
  readonly #onChange: () => void;
  #waiting: Waiting[] = [];

  /** @param onChange called when something can be handed on, or was. */
  constructor(paths: RealPaths, onChange: () => void) {
    this.#paths = paths;
    this.#onChange = onChange;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /** Whether it is not known yet what some action concerns. */
  get isBusy(): boolean {
    return this.#waiting.some((each) => each.below === undefined);
  }

  /** As of `RealPaths`. */
  get isWorthWaiting(): boolean {
    return this.#waiting.some(({ below, at }) => below === undefined && performance.now() - at < PATHS_WAIT_MS);
  }

  /** Whether a daemon has some and did not answer. */
  get isUnderWay(): boolean {
    return this.#waiting.some((each) => each.isSent);
  }

  /** The paths for which a daemon is wanted. */
  get wanted(): string[] {
    return this.#waiting.flatMap(({ real, kind, below }) =>
      !real ? [] : kind === "note_renamed" && below?.[0] ? [`${real}/${below[0]}`] : [real],
    );
  }

  /** Settles once a daemon took it or refused it. What has become too many is dropped, the oldest first. */
  add(kind: ActionKind, path: string, to?: string): Promise<Outcome> {
    return new Promise((settle) => {
      const real = this.#paths.known(path); // a renamed file is there no more, and may have been a symlink's
      const isNew = to !== undefined || kind === "note_deleted";
      if (isNew) this.#paths.forget(path);
      if (to !== undefined) this.#paths.forget(to);
      const made: Waiting = {
        kind,
        path,
        to,
        settle,
        below: to === undefined ? [] : undefined,
        real: real ?? undefined,
        realTo: undefined,
        ids: new Map(),
        at: performance.now(),
        isSent: false,
      };
      this.#waiting.push(made);
      if (this.#waiting.length > ACTIONS_MAX) this.#drop(this.#waiting[0] as Waiting, "Too much waits for a daemon.");
      if (to !== undefined) {
        void notesBelow(to, RENAMED_NOTES_MAX).then((below) => {
          made.below = below;
          this.#onChange();
        });
      }
      this.#onChange();
    });
  }

  /** Asks where the files lie. */
  locate(): void {
    for (const each of [...this.#waiting]) {
      each.real ??= this.#paths.real(each.path);
      if (each.to !== undefined) each.realTo ??= this.#paths.real(each.to);
      if (each.real === null) this.#drop(each, `${each.path} is no file.`);
    }
  }

  /** Gives each action, in their order, to the daemon that serves its note. */
  handOn(places: readonly Place<Taker>[]): void {
    for (const each of [...this.#waiting]) {
      const isLocated = each.below !== undefined && each.real && (each.to === undefined || each.realTo !== undefined);
      if (!each.isSent && isLocated) this.#give(each, places);
    }
  }

  #give(waiting: Waiting, places: readonly Place<Taker>[]): void {
    const { real, kind } = waiting;
    const found = this.#pairs(waiting).flatMap(([from, to, key]) => {
      const at = nearest(places, from);
      return at === undefined ? [] : [{ ...at, to, key }];
    });
    const first = found[0];
    if (first === undefined) {
      // A renamed folder without notes, a deleted picture: no daemon will ever want it.
      const isNote = isMarkdown(real ?? "") || (waiting.below?.length ?? 0) > 0;
      if (!isNote) this.#drop(waiting, `${waiting.path} is no note.`);
      return;
    }
    waiting.isSent = true;
    const taker = first.place.of;
    const actions = found
      .filter(({ place }) => place.of === taker)
      .map(({ place, note, to, key }) => action(kind, place, note, to, idOf(waiting, key)));
    void taker.act(kind, actions).then(({ problem, retry }) => {
      waiting.isSent = false;
      if (retry !== true) {
        const outcome: Outcome =
          problem === undefined
            ? { ok: true, note: first.note, vault: first.place.root }
            : { ok: false, message: problem };
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        waiting.settle(outcome);
      }
      this.#onChange();
    });
  }

  /** Which note, where it went, and what its action is called. */
  #pairs({ real, realTo, below }: Waiting): [string, string | null | undefined, string][] {
    if (!real) return [];
    if (below === undefined || below.length === 0) return [[real, realTo, ""]];
    return below.map((path) => [`${real}/${path}`, realTo && `${realTo}/${path}`, path]);
  }

  #drop(waiting: Waiting, message: string): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
    waiting.settle({ ok: false, message });
  }
}

function idOf({ ids }: Waiting, key: string): string {
  const id = ids.get(key) ?? newId();
  ids.set(key, id);
  return id;
}

/** A note that left its vault is gone from there. */
function action(kind: ActionKind, place: Place, note: string, to: string | null | undefined, id: string): Action {
  const vault = place.vaultId;
  if (kind !== "note_renamed") return { type: kind, data: { note }, vault, id };
  const target = to ? noteIn(to, place) : undefined;
  if (target === undefined) return { type: "note_deleted", data: { note }, vault, id };
  return { type: "note_renamed", data: { from: note, to: target }, vault, id };
}
