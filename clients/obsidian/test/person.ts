/** Someone who uses Obsidian, in the terms of its interface; the host does what Obsidian does then. */

import { relative } from "node:path";

import { App, FakeWindow, FileView, MarkdownView, notices, OtherView, type WorkspaceLeaf } from "obsidian";
import type { Publisher, PublisherStatus } from "workspaced-client/publisher";

/** The plugin as Obsidian and its tests see it. */
export interface LoadedPlugin {
  data: unknown;
  readonly publisher: Publisher | undefined;
  onload(): Promise<void>;
  onUserEnable(): void;
  unload(): void;
}

type PluginClass = new (app: App, manifest: { id: string }) => LoadedPlugin;

/** What was copied last. */
export let clipboard = "";
Object.defineProperty(globalThis, "navigator", {
  configurable: true,
  value: { clipboard: { writeText: async (text: string) => void (clipboard = text) } },
});

export class Person {
  readonly app: App;
  readonly plugin: LoadedPlugin;
  readonly #folder: string;

  private constructor(folder: string, data: unknown) {
    this.#folder = folder;
    this.app = new App(folder);
    const { default: WorkspacedPlugin } = require("./main.js") as { default: PluginClass };
    this.plugin = new WorkspacedPlugin(this.app, { id: "workspaced" });
    this.plugin.data = data;
  }

  /** Opens a vault with the plugin switched on; its window has the focus. */
  static async opens(folder: string, data: unknown = null): Promise<Person> {
    const made = new Person(folder, data);
    made.app.workspace.window.focus();
    await made.plugin.onload();
    return made;
  }

  get publisher(): Publisher {
    if (this.plugin.publisher === undefined) throw new Error("the plugin did not begin");
    return this.plugin.publisher;
  }

  status(): PublisherStatus {
    return this.publisher.status();
  }

  // -- notes; paths are absolute --

  open(path: string): void {
    const { workspace } = this.app;
    const leaf = workspace.activeLeaf ?? workspace.addLeaf();
    this.#show(leaf, path);
  }

  /** In a pane or a tab of its own. */
  split(path: string): void {
    this.#show(this.app.workspace.addLeaf(), path);
  }

  /** In a window of its own, which has the focus then. */
  popOut(path: string): FakeWindow {
    const { workspace } = this.app;
    const window = new FakeWindow();
    const leaf = workspace.addLeaf(window);
    workspace.trigger("window-open", { win: window, doc: window.document }, window);
    workspace.window.blur();
    window.focus();
    this.#show(leaf, path);
    return window;
  }

  /** A tab in the background that Obsidian did not load. */
  restored(path: string, pinned = false): WorkspaceLeaf {
    const leaf = this.app.workspace.addLeaf();
    leaf.deferred = { type: "markdown", state: { file: this.#inVault(path) } };
    leaf.isPinned = pinned;
    this.app.workspace.trigger("layout-change");
    return leaf;
  }

  /** What is no file, in a tab of its own. */
  openGraph(): void {
    const leaf = this.app.workspace.addLeaf();
    leaf.show(new OtherView(leaf));
    this.app.workspace.setActiveLeaf(leaf);
  }

  /** A sidebar about a file, which the user clicks into. */
  openAbout(path: string, type: string, navigation: boolean): void {
    const leaf = this.app.workspace.addLeaf();
    const view = new FileView(leaf, this.app.vault.file(this.#inVault(path)), type);
    view.navigation = navigation;
    leaf.show(view);
    this.app.workspace.setActiveLeaf(leaf);
  }

  close(path: string): void {
    for (const leaf of this.#leavesOf(path)) leaf.detach();
  }

  goTo(path: string): WorkspaceLeaf {
    const [leaf] = this.#leavesOf(path);
    if (leaf === undefined) {
      this.open(path);
      return this.goTo(path);
    }
    this.app.workspace.setActiveLeaf(leaf);
    return leaf;
  }

  setPinned(path: string, pinned: boolean): void {
    this.goTo(path).setPinned(pinned);
  }

  /** Whole lines, counted from 1; none: nothing is selected any more. */
  select(path: string, first?: number, last?: number): void {
    const { view } = this.goTo(path);
    if (!(view instanceof MarkdownView)) throw new Error(`${path} is not loaded`);
    if (first === undefined || last === undefined) view.editor.selection = [0, 0];
    else view.editor.selectLines(first, last);
    this.app.selectionSet();
  }

  rename(old: string, now: string): void {
    this.app.vault.rename(this.#inVault(old), this.#inVault(now));
  }

  /** Assumed: a leaf whose file was deleted is closed. */
  delete(path: string): void {
    this.app.vault.delete(this.#inVault(path));
    this.close(path);
  }

  // -- the rest of the program --

  focus(): void {
    this.app.workspace.window.focus();
  }

  blur(): void {
    this.app.workspace.window.blur();
  }

  /** Runs a command; false where it is not offered now. */
  command(id: string): boolean {
    const command = this.app.commands.get(id);
    if (command === undefined) throw new Error(`there is no command ${id}`);
    if (command.checkCallback === undefined) {
      command.callback?.();
      return true;
    }
    return command.checkCallback(true) === true && command.checkCallback(false) === true;
  }

  /** Runs a command and waits until the user was told what became of it. */
  async commanded(id: string): Promise<string> {
    const before = notices.length;
    if (!this.command(id)) throw new Error(`the command ${id} is not offered now`);
    while (notices.length === before) await new Promise(setImmediate);
    return notices.slice(before).join("\n");
  }

  get statusBar(): { text: string; hover: string } {
    const [item] = this.app.statusBar;
    return { text: item?.text ?? "", hover: item?.attributes.get("aria-label") ?? "" };
  }

  /** Quits: Obsidian triggers 'quit' with tasks to wait for. */
  async quit(): Promise<void> {
    const tasks: (() => Promise<unknown>)[] = [];
    this.app.workspace.trigger("quit", { add: (task: () => Promise<unknown>) => void tasks.push(task) });
    await Promise.all(tasks.map((task) => task()));
  }

  #show(leaf: WorkspaceLeaf, path: string): void {
    this.app.workspace.showFile(leaf, this.#inVault(path));
    this.app.workspace.setActiveLeaf(leaf);
  }

  #leavesOf(path: string): WorkspaceLeaf[] {
    const file = this.#inVault(path);
    const leaves: WorkspaceLeaf[] = [];
    this.app.workspace.iterateAllLeaves((leaf) => {
      if (leaf.getViewState().state["file"] === file) leaves.push(leaf);
    });
    return leaves;
  }

  #inVault(path: string): string {
    return relative(this.#folder, path);
  }
}
