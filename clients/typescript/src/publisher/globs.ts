/**
 * Which files that are no Markdown a vault holds, by the globs that its daemon names: gitignore's syntax, of which the
 * last that names a path decides.
 */

/** What the daemon counts as images, which are never notes. */
const IMAGE = /\.(avif|bmp|gif|heic|jpeg|jpg|png|svg|webp)$/i;

interface Glob {
  readonly pattern: RegExp;
  /** Whether it takes out what a glob before it names. */
  readonly lifts: boolean;
}

const known = new Map<string, Glob | undefined>();

/** Whether the globs name the path, which is relative to the vault. */
export function areNamed(globs: readonly string[] | undefined, path: string): boolean {
  if (globs === undefined || IMAGE.test(path)) return false;
  for (const glob of [...globs].reverse()) {
    const found = compiled(glob);
    if (found?.pattern.test(path)) return !found.lifts;
  }
  return false;
}

function compiled(glob: string): Glob | undefined {
  if (!known.has(glob)) {
    const lifts = glob.startsWith("!");
    known.set(glob, patternOf(lifts ? glob.slice(1) : glob, lifts));
  }
  return known.get(glob);
}

/** Parts of a glob, the longest first: folders, all below, a name's rest, one character, a class, a character. */
const PART = /(?<=^|\/)\*\*\/|(?<=^|\/)\*\*$|\*+|\?|\[[!^]?\]?[^\]]*\]|\\?./gsu;

function patternOf(glob: string, lifts: boolean): Glob | undefined {
  const isFolder = glob.endsWith("/");
  const body = isFolder ? glob.slice(0, -1) : glob;
  const anywhere = body.includes("/") ? "" : "(?:.*/)?";
  const parts = body.replace(/^\//, "").replace(PART, translated);
  // What names a folder names all below it.
  const below = isFolder ? "/.*" : "(?:/.*)?";
  try {
    return { pattern: new RegExp(`^${anywhere}${parts}${below}$`, "su"), lifts };
  } catch {
    return undefined; // a class without an end that makes sense
  }
}

function translated(part: string): string {
  if (part === "**/") return "(?:.*/)?";
  if (part === "**") return ".+";
  if (part.startsWith("*")) return "[^/]*";
  if (part === "?") return "[^/]";
  if (part.startsWith("[") && part.length > 1) {
    const isNegated = /^\[[!^]/.test(part);
    const inside = part.slice(isNegated ? 2 : 1, -1).replace(/[\\[\]^]/g, "\\$&");
    return isNegated ? `[^/${inside}]` : `[${inside}]`;
  }
  return part.replace(/^\\(?=.)/su, "").replace(/[$()*+./?[\\\]^{|}]/g, "\\$&");
}
