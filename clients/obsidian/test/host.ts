/**
 * A host for the plugin in the place of Obsidian: what `require("obsidian")` gives it. Workspace and vault:
 * workspace.ts; controls: controls.ts; whoever sits before it: person.ts.
 */

import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

import { FakeElement } from "./elements.js";
import { Events, FileSystemAdapter, Vault, type View, Workspace, type WorkspaceLeaf } from "./workspace.js";

export { dialogues, Modal, Notice, notices, PluginSettingTab, Setting, settings } from "./controls.js";
export { FakeWindow } from "./elements.js";
export { FileSystemAdapter, FileView, ItemView, MarkdownView, OtherView, TFile, View, WorkspaceLeaf } from "./workspace.js";

interface Command {
  readonly id: string;
  readonly name: string;
  callback?(): unknown;
  checkCallback?(checking: boolean): boolean | void;
}

/** d.ts, class App: `workspace` and `vault`. */
export class App {
  readonly vault: Vault;
  readonly workspace: Workspace;
  readonly commands = new Map<string, Command>();
  readonly ribbon = new Map<string, () => unknown>();
  readonly statusBar: FakeElement[] = [];
  readonly settingTabs: { display(): void }[] = [];
  readonly #extensions: Extension[] = [];

  constructor(folder: string) {
    this.vault = new Vault(new FileSystemAdapter(folder));
    this.workspace = new Workspace(this.vault);
  }

  addExtension(extension: Extension): void {
    this.#extensions.push(extension);
  }

  /** What CodeMirror does when a selection was set: it calls its update listeners. */
  selectionSet(): void {
    const state = EditorState.create({ extensions: this.#extensions });
    const update = { selectionSet: true, focusChanged: false, state };
    for (const listener of state.facet(EditorView.updateListener)) listener(update as never);
  }
}

/** d.ts, classes Component and Plugin: what is registered ends when the plugin is unloaded. */
export class Plugin {
  data: unknown = null;
  readonly #ends: (() => unknown)[] = [];

  constructor(
    readonly app: App,
    readonly manifest: { readonly id: string },
  ) {}

  onload(): void | Promise<void> {}
  onunload(): void {}
  onUserEnable(): void {}

  /** Obsidian's part of switching a plugin off: `onunload`, then everything that was registered. */
  unload(): void {
    this.onunload();
    for (const end of this.#ends.splice(0)) end();
  }

  register(end: () => unknown): void {
    this.#ends.push(end);
  }

  registerEvent(event: { off: () => void }): void {
    this.register(() => event.off());
  }

  registerDomEvent(target: EventTarget, type: string, callback: (event: Event) => unknown): void {
    target.addEventListener(type, callback);
    this.register(() => target.removeEventListener(type, callback));
  }

  registerView(type: string, make: (leaf: WorkspaceLeaf) => View): void {
    this.app.workspace.registerView(type, make);
  }

  registerEditorExtension(extension: Extension): void {
    this.app.addExtension(extension);
  }

  addCommand(command: Command): Command {
    this.app.commands.set(command.id, command);
    return command;
  }

  addRibbonIcon(_icon: string, title: string, callback: () => unknown): FakeElement {
    this.app.ribbon.set(title, callback);
    return new FakeElement(this.app.workspace.window.document);
  }

  addStatusBarItem(): FakeElement {
    const item = new FakeElement(this.app.workspace.window.document);
    this.app.statusBar.push(item);
    return item;
  }

  addSettingTab(tab: { display(): void }): void {
    this.app.settingTabs.push(tab);
  }

  async loadData(): Promise<unknown> {
    return structuredClone(this.data);
  }

  async saveData(data: unknown): Promise<void> {
    this.data = structuredClone(data);
  }
}

export { Events };
