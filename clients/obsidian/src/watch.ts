/** Every event of Obsidian after which it may show something else, as one call. */

import { EditorView } from "@codemirror/view";
import { type EventRef, type Plugin, TFile, type WorkspaceLeaf } from "obsidian";

export interface Watcher {
  /** Something may be other than it was. Called often. */
  touch(): void;
  /** Paths relative to the vault. */
  renamed(from: string, to: string): void;
  deleted(path: string): void;
}

/**
 * Watches for as long as the plugin is loaded. Call it once the layout is ready.
 *
 * @param leaves all that there are at this moment.
 */
export function watch(plugin: Plugin, leaves: () => readonly WorkspaceLeaf[], watcher: Watcher): void {
  const { workspace, vault } = plugin.app;
  const touch = (): void => watcher.touch();
  const pins = new PinWatcher(leaves, touch);
  const windows = new WeakSet<Window>();
  const watchWindow = (window: Window): void => {
    if (windows.has(window)) return;
    windows.add(window);
    plugin.registerDomEvent(window, "focus", touch);
    plugin.registerDomEvent(window, "blur", touch);
  };
  const watchAll = (): void => {
    pins.watch();
    for (const leaf of leaves()) watchWindow(leaf.getContainer().win);
    touch();
  };
  plugin.register(() => pins.stop());
  plugin.registerEvent(workspace.on("active-leaf-change", touch));
  plugin.registerEvent(workspace.on("file-open", touch));
  plugin.registerEvent(workspace.on("layout-change", watchAll));
  plugin.registerEvent(workspace.on("window-open", (_container, window) => watchWindow(window)));
  plugin.registerEvent(workspace.on("window-close", touch));
  // Of a renamed or deleted folder Obsidian tells each file too.
  plugin.registerEvent(
    vault.on("rename", (file, from) => {
      if (file instanceof TFile) watcher.renamed(from, file.path);
    }),
  );
  plugin.registerEvent(
    vault.on("delete", (file) => {
      if (file instanceof TFile) watcher.deleted(file.path);
    }),
  );
  watchAll();
}

/** Obsidian has no event for selections; its editor is CodeMirror, which has. */
export function watchSelection(plugin: Plugin, touch: () => void): void {
  plugin.registerEditorExtension(
    EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.focusChanged) touch();
    }),
  );
}

/** A leaf tells of being pinned by an event of its own. */
class PinWatcher {
  readonly #leaves: () => readonly WorkspaceLeaf[];
  readonly #touch: () => void;
  readonly #watched = new Map<WorkspaceLeaf, EventRef>();

  constructor(leaves: () => readonly WorkspaceLeaf[], touch: () => void) {
    this.#leaves = leaves;
    this.#touch = touch;
  }

  /** Watches the leaves that came, and no longer those that went. */
  watch(): void {
    const now = new Set(this.#leaves());
    for (const [leaf, event] of this.#watched) {
      if (now.has(leaf)) continue;
      leaf.offref(event);
      this.#watched.delete(leaf);
    }
    for (const leaf of now) {
      if (!this.#watched.has(leaf)) this.#watched.set(leaf, leaf.on("pinned-change", this.#touch));
    }
  }

  stop(): void {
    for (const [leaf, event] of this.#watched) leaf.offref(event);
    this.#watched.clear();
  }
}
