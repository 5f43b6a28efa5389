/**
 * From what the window shows to what the publisher tells. Pure, but for one memory: which file the user looked at last.
 *
 * - The file in front is the active one. While what is in front is no file (settings, a diff, a preview), the last one
 *   stays active until its last tab is closed.
 * - What each group shows is a tab, group by group; so is a preview tab behind another one, since it was opened only to
 *   look. Other tabs behind are not: the user does not look at them.
 * - A tab that the user pinned is a pin, wherever it lies.
 */

import type { EditorView } from "workspaced-client/publisher";

/** One tab of VS Code. */
export interface Tab {
  /** The absolute path of its file; null: it shows none that may be told. */
  readonly path: string | null;
  /** In front in its group. */
  readonly isActive: boolean;
  readonly isPinned: boolean;
  /** Opened to look at; the next such tab replaces it. */
  readonly isPreview: boolean;
}

export interface Group {
  /** The one that has the focus. */
  readonly isActive: boolean;
  readonly tabs: readonly Tab[];
}

/** What one window of VS Code shows. */
export interface Shown {
  readonly isFocused: boolean;
  /** In the order of their columns. */
  readonly groups: readonly Group[];
  /** In the text editor that was used last. */
  readonly selection: EditorView["selection"];
}

export class Sight {
  #active: string | null = null;

  view({ isFocused, groups, selection }: Shown): EditorView {
    const tabs = groups.flatMap((group) => group.tabs);
    const front = groups.find((group) => group.isActive)?.tabs.find((tab) => tab.isActive);
    const isStillOpen = tabs.some(({ path }) => path === this.#active);
    this.#active = front?.path ?? (isStillOpen ? this.#active : null);
    return {
      active: this.#active,
      focused: isFocused,
      tabs: once(tabs.filter((tab) => tab.isActive || tab.isPreview)).map((path) => ({ path, source: "navigation" })),
      pins: once(tabs.filter((tab) => tab.isPinned)),
      selection: selection?.path === this.#active ? selection : null,
    };
  }

  /** A file or folder has another name: the active note is the same one as before. */
  renamed(from: string, to: string): void {
    if (this.#active === from) this.#active = to;
    else if (this.#active?.startsWith(`${from}/`)) this.#active = to + this.#active.slice(from.length);
  }
}

/** The paths of the notes among tabs, each once. */
function once(tabs: readonly Tab[]): string[] {
  return [...new Set(tabs.flatMap(({ path }) => path ?? []))];
}
