/** Which files may be told, by the setting `workspaced.files`. Looks at names alone, never at the disk. */

import picomatch from "picomatch";

/** Globs beyond this are not looked at. */
const GLOBS_MAX = 100;
/** Files of which the answer is remembered. */
const KNOWN_MAX = 2_000;

export class Files {
  readonly #matches: (path: string) => boolean;
  readonly #folders: readonly string[];
  readonly #known = new Map<string, boolean>();

  /**
   * @param globs relative to a workspace folder; for a file in none of them, to the root of the disk.
   * @param folders absolute paths of the workspace folders.
   * @throws TypeError: what stands in the setting is no list of globs.
   */
  constructor(globs: readonly string[], folders: readonly string[]) {
    const clean = globs.slice(0, GLOBS_MAX).map((glob) => glob.replace(/^\.?\//, ""));
    this.#matches = picomatch(clean.filter(Boolean), { dot: true, nocase: true, nonegate: true });
    // The nearest folder above a file is the longest one.
    this.#folders = folders.map((folder) => `${folder.replace(/\/+$/, "")}/`).sort((a, b) => b.length - a.length);
  }

  /** Whether the file at an absolute path may be told. */
  has(path: string): boolean {
    let known = this.#known.get(path);
    if (known === undefined) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      const folder = this.#folders.find((each) => path.startsWith(each)) ?? "/";
      this.#known.set(path, (known = this.#matches(path.slice(folder.length))));
    }
    return known;
  }
}
