/** A selection that still moves is told to nobody: the one before it holds until the new one rests. */

import type { EditorView } from "./api.js";
import { SELECTION_CHARS_MAX, SELECTION_SETTLE_MS } from "./limits.js";
import { isSame } from "./same.js";

type Selection = EditorView["selection"];

export class RestingSelection {
  readonly #onRest: () => void;
  #seen: Selection = null;
  #rests: Selection = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param onRest called when a selection has come to rest: `of` gives it then. */
  constructor(onRest: () => void) {
    this.#onRest = onRest;
  }

  /** The selection that rests; none of a note that the user left. The end of one counts at once. */
  of({ active, selection }: EditorView): Selection {
    const now = selection === null || selection.path !== active ? null : withinBounds(selection);
    if (now === null || this.#rests?.path !== now.path) this.#rests = null;
    if (!isSame(now, this.#seen)) {
      this.#seen = now;
      this.stop();
      if (now !== null) this.#timer = setTimeout(() => this.#rest(), SELECTION_SETTLE_MS);
    }
    return this.#rests;
  }

  /** Whether one moves. */
  get isMoving(): boolean {
    return this.#timer !== undefined;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #rest(): void {
    this.#timer = undefined;
    this.#rests = this.#seen;
    this.#onRest();
  }
}

function withinBounds(selection: NonNullable<Selection>): NonNullable<Selection> {
  const { path, text } = selection;
  const startLine = Math.max(1, Math.trunc(selection.startLine));
  const endLine = Math.max(startLine, Math.trunc(selection.endLine));
  return text === undefined || text.length > SELECTION_CHARS_MAX
    ? { path, startLine, endLine }
    : { path, startLine, endLine, text };
}
