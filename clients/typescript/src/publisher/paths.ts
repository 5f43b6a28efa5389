/** Where files really lie, found without waiting: a disk may hang, the editor may not. */

import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { NAME_BYTES_MAX, NOTE_CHARS_MAX, PATHS_ASKED_MAX, PATHS_MAX, PATHS_WAIT_MS } from "./limits.js";

export class RealPaths {
  readonly #onKnown: () => void;
  /** By path; null: it lies nowhere. */
  readonly #known = new Map<string, string | null>();
  /** Questions that are open, the first ones at the disk. What a forgotten one answers does not count. */
  readonly #asked = new Map<string, { readonly at: number }>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #atDisk = 0;

  /** @param onKnown called when it is known where a file lies. */
  constructor(onKnown: () => void) {
    this.#onKnown = onKnown;
  }

  /** Whether some question is open. */
  get isBusy(): boolean {
    return this.#asked.size > 0;
  }

  /** Whether it is worth waiting: a view would be made of half the truth. A disk that hangs is not waited for. */
  get isWorthWaiting(): boolean {
    return [...this.#asked.values()].some(({ at }) => performance.now() - at < PATHS_WAIT_MS);
  }

  /** The real path of an absolute one; null: none; undefined: not known yet, `onKnown` is called once it is. */
  real(path: string): string | null | undefined {
    const known = this.#known.get(path);
    if (known === undefined && !this.#asked.has(path)) this.#ask(path);
    return known;
  }

  /** What is known without asking. */
  known(path: string): string | null | undefined {
    return this.#known.get(path);
  }

  /** Forgets where a file lies and all below it; without a path, where all do. */
  forget(path?: string): void {
    for (const each of [...this.#known.keys()]) {
      if (path === undefined || isAtOrBelow(each, path)) this.#known.delete(each);
    }
    for (const each of [...this.#asked.keys()]) {
      if (path === undefined || isAtOrBelow(each, path)) this.#asked.delete(each);
    }
  }

  #ask(path: string): void {
    const question = { at: performance.now() };
    this.#asked.set(path, question);
    this.#waiting.push(async () => {
      if (this.#asked.get(path) !== question) return;
      const found = await resolved(path);
      if (this.#asked.get(path) !== question) return;
      this.#asked.delete(path);
      if (this.#known.size >= PATHS_MAX) this.#known.clear();
      this.#known.set(path, found);
      this.#onKnown();
    });
    this.#next();
  }

  #next(): void {
    while (this.#atDisk < PATHS_ASKED_MAX) {
      const ask = this.#waiting.shift();
      if (ask === undefined) return;
      this.#atDisk += 1;
      void ask().finally(() => {
        this.#atDisk -= 1;
        this.#next();
      });
    }
  }
}

/** A file that is not there yet lies where its folder does; a symlink that leads nowhere lies nowhere. */
async function resolved(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    );
    if (isThere) return null;
    return realpath(dirname(path)).then(
      (folder) => join(folder, basename(path)),
      () => null,
    );
  }
}

export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder.replace(/\/+$/, "")}/`);
}

/** Whether a file is Markdown, by its ending. */
export function isMarkdown(path: string): boolean {
  return /\.md$/i.test(path);
}

/** A folder that is served. */
export interface Served {
  readonly root: string;
}

/**
 * The note, or other file, a real path is in the vault at `root` (a real path too); undefined where it is none: the
 * daemon's rules, since one path that it refuses would cost the whole view.
 */
export function noteIn(path: string, { root }: Served): string | undefined {
  if (path === root || !isAtOrBelow(path, root)) return undefined;
  const note = path.slice(root.replace(/\/+$/, "").length + 1);
  return !HIDDEN.test(note) && !NO_TEXT.test(note) && isShort(note) ? note : undefined;
}

/** A name that is empty or begins with a dot. */
const HIDDEN = /(?:^|\/)[./]/;
/** What did not come out of UTF-8 whole: Node puts U+FFFD for each byte that is none. */
const NO_TEXT = /[\uFFFD\p{Surrogate}]/u;

/** Most notes are short by any measure: only others are counted. */
function isShort(note: string): boolean {
  const isLong = note.length > NAME_BYTES_MAX / 3;
  return !isLong || ([...note].length <= NOTE_CHARS_MAX && note.split("/").every(isShortName));
}

function isShortName(name: string): boolean {
  return Buffer.byteLength(name) <= NAME_BYTES_MAX;
}

/** Of `places` the one nearest above a real path in which it is a note, and that note. */
export function nearest<Place extends Served>(
  places: readonly Place[],
  path: string,
): { readonly place: Place; readonly note: string } | undefined {
  let best: { place: Place; note: string } | undefined;
  for (const place of places) {
    if (best !== undefined && best.place.root.length >= place.root.length) continue;
    const note = noteIn(path, place);
    if (note !== undefined) best = { place, note };
  }
  return best;
}

/** Of `places` the one nearest above a real path, whether or not that is a note there. */
export function above<Place extends Served>(places: readonly Place[], path: string): Place | undefined {
  return places
    .filter(({ root }) => isAtOrBelow(path, root))
    .reduce<Place | undefined>((best, each) => (best && best.root.length >= each.root.length ? best : each), undefined);
}

/** The paths of the notes below a folder, relative to it, at most `max`; symlinks are not followed. */
export async function notesBelow(folder: string, max: number): Promise<string[]> {
  const [found, folders]: [string[], string[]] = [[], [""]];
  for (let below = folders.shift(); below !== undefined && found.length < max; below = folders.shift()) {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      const path = join(below, entry.name);
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) folders.push(path);
      else if (isMarkdown(path) && found.length < max) found.push(path);
    }
  }
  return found;
}
