/**
 * Obsidian's workspace and vault, as far as the plugin uses them. Only what its documented API says: each class and
 * method has the name it has in obsidian.d.ts (package `obsidian` 1.13.1), "d.ts" below. Where the d.ts has no words
 * the assumption stands beside the code, and in CHECKLIST.md as a step for a person with the real program.
 */

import { readFileSync, renameSync, rmSync } from "node:fs";
import { basename, extname, join } from "node:path";

import { FakeElement, FakeWindow } from "./elements.js";

type Listener = (...data: never[]) => unknown;

/** d.ts, class Events. */
export class Events {
  readonly #listeners = new Map<string, Set<Listener>>();

  on(name: string, callback: Listener): { off: () => void } {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(callback));
    return { off: () => listeners.delete(callback) };
  }

  offref(event: { off: () => void }): void {
    event.off();
  }

  trigger(name: string, ...data: unknown[]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(...(data as never[]));
  }
}

/** d.ts, class TFile: `path` is relative to the vault. */
export class TFile {
  constructor(public path: string) {}
  get extension(): string {
    return extname(this.path).slice(1);
  }
  get name(): string {
    return basename(this.path);
  }
}

/** d.ts, class FileSystemAdapter: `getBasePath`, on the desktop. */
export class FileSystemAdapter {
  constructor(readonly basePath: string) {}
  getBasePath(): string {
    return this.basePath;
  }
}

export class Vault extends Events {
  readonly files = new Map<string, TFile>();

  constructor(readonly adapter: unknown) {
    super();
  }

  file(path: string): TFile {
    const file = this.files.get(path) ?? new TFile(path);
    this.files.set(path, file);
    return file;
  }

  absolute(path: string): string {
    return join((this.adapter as FileSystemAdapter).getBasePath(), path);
  }

  /** The file moves, then 'rename' is triggered with the file, whose path is the new one, and the old path. */
  rename(from: string, to: string): void {
    renameSync(this.absolute(from), this.absolute(to));
    this.moved(from, to);
  }

  moved(from: string, to: string): void {
    const file = this.file(from);
    this.files.delete(from);
    file.path = to;
    this.files.set(to, file);
    this.trigger("rename", file, from);
  }

  delete(path: string): void {
    const file = this.file(path);
    rmSync(this.absolute(path));
    this.files.delete(path);
    this.trigger("delete", file);
  }
}

/** d.ts, class Editor: lines and columns from 0 on; an offset counts characters with one for each line's end. */
export class Editor {
  selection: [number, number] = [0, 0];

  constructor(readonly text: string) {}

  somethingSelected(): boolean {
    return this.selection[0] !== this.selection[1];
  }

  getCursor(side: "from" | "to"): { line: number; ch: number } {
    const before = this.text.slice(0, this.selection[side === "from" ? 0 : 1]).split("\n");
    return { line: before.length - 1, ch: before.at(-1)?.length ?? 0 };
  }

  posToOffset({ line, ch }: { line: number; ch: number }): number {
    const before = this.text.split("\n").slice(0, line);
    return before.reduce((sum, each) => sum + each.length + 1, 0) + ch;
  }

  getRange(from: { line: number; ch: number }, to: { line: number; ch: number }): string {
    return this.text.slice(this.posToOffset(from), this.posToOffset(to));
  }

  /** Whole lines, counted from 1, to the end of the last one. */
  selectLines(first: number, last: number): void {
    const end = this.text.split("\n")[last - 1]?.length ?? 0;
    this.selection = [this.posToOffset({ line: first - 1, ch: 0 }), this.posToOffset({ line: last - 1, ch: end })];
  }
}

export class View {
  navigation = true;
  icon = "";
  readonly contentEl: FakeElement;

  constructor(readonly leaf: WorkspaceLeaf) {
    this.contentEl = new FakeElement(leaf.container.win.document);
  }
  getViewType(): string {
    return "empty";
  }
  getState(): Record<string, unknown> {
    return {};
  }
  async onOpen(): Promise<void> {}
}

export class ItemView extends View {}

/** d.ts, class FileView; a view's type for files of an ending is not in the d.ts (community plugins compare it). */
export class FileView extends ItemView {
  constructor(
    leaf: WorkspaceLeaf,
    readonly file: TFile,
    readonly type = "markdown",
  ) {
    super(leaf);
  }
  override getViewType(): string {
    return this.type;
  }
  override getState(): Record<string, unknown> {
    return { file: this.file.path };
  }
}

export class MarkdownView extends FileView {
  readonly editor: Editor;
  mode: "source" | "preview" = "source";

  constructor(leaf: WorkspaceLeaf, file: TFile, text: string) {
    super(leaf, file);
    this.editor = new Editor(text);
  }
  getMode(): string {
    return this.mode;
  }
  /** The state of a Markdown view names its file (community plugins rely on `state.file`; d.ts: Record). */
  override getState(): Record<string, unknown> {
    return { file: this.file.path, mode: this.mode };
  }
}

/** A view of what is no file: a graph. */
export class OtherView extends ItemView {
  override getViewType(): string {
    return "graph";
  }
}

export class WorkspaceLeaf extends Events {
  view: View;
  isPinned = false;
  /** d.ts: a background leaf "will have a DeferredView as its view". */
  deferred: { type: string; state: Record<string, unknown> } | undefined;

  constructor(
    readonly workspace: Workspace,
    readonly container: { win: FakeWindow; doc: FakeWindow["document"] },
  ) {
    super();
    this.view = new View(this);
  }

  get isDeferred(): boolean {
    return this.deferred !== undefined;
  }

  getContainer(): { win: FakeWindow; doc: FakeWindow["document"] } {
    return this.container;
  }

  /** d.ts: ViewState has `type`, `state`, `pinned?`. */
  getViewState(): { type: string; state: Record<string, unknown>; pinned?: boolean } {
    const shown = this.deferred ?? { type: this.view.getViewType(), state: this.view.getState() };
    return this.isPinned ? { ...shown, pinned: true } : shown;
  }

  async setViewState({ type, active }: { type: string; active?: boolean }): Promise<void> {
    this.show(this.workspace.viewOf(type, this));
    if (active === true) this.workspace.setActiveLeaf(this);
    await this.view.onOpen();
  }

  show(view: View): void {
    this.view = view;
    this.deferred = undefined;
  }

  /** d.ts: `setPinned`, and the leaf's event 'pinned-change' with whether it is. */
  setPinned(pinned: boolean): void {
    this.isPinned = pinned;
    this.trigger("pinned-change", pinned);
  }

  /** Assumed: leaves that come and go change the layout (d.ts has no words on 'layout-change'). */
  detach(): void {
    this.workspace.remove(this);
  }
}

/** Obsidian's types of views by the endings of the files that they show. */
const TYPES: Record<string, string> = { base: "bases", canvas: "canvas", pdf: "pdf", png: "image" };

/** The user's view of the workspace is `person.ts`. */
export class Workspace extends Events {
  readonly window = new FakeWindow();
  readonly containerEl = this.window.document.body;
  readonly #leaves: WorkspaceLeaf[] = [];
  readonly #views = new Map<string, (leaf: WorkspaceLeaf) => View>();
  #active: WorkspaceLeaf | null = null;

  constructor(readonly vault: Vault) {
    super();
  }

  /** d.ts: runs the callback right away if the layout is ready; ours always is. */
  onLayoutReady(callback: () => unknown): void {
    callback();
  }

  iterateAllLeaves(callback: (leaf: WorkspaceLeaf) => unknown): void {
    for (const leaf of [...this.#leaves]) callback(leaf);
  }

  getLeavesOfType(type: string): WorkspaceLeaf[] {
    return this.#leaves.filter((leaf) => leaf.getViewState().type === type);
  }

  getActiveViewOfType<Type extends View>(type: new (...args: never[]) => Type): Type | null {
    const view = this.#active?.view;
    return view instanceof type ? view : null;
  }

  getRightLeaf(): WorkspaceLeaf {
    return this.addLeaf();
  }

  async revealLeaf(leaf: WorkspaceLeaf): Promise<void> {
    this.setActiveLeaf(leaf);
  }

  /** d.ts: 'active-leaf-change' and, where the active file changes, 'file-open'. */
  setActiveLeaf(leaf: WorkspaceLeaf | null): void {
    const before = this.activeFile;
    this.#active = leaf;
    this.trigger("active-leaf-change", leaf);
    if (this.activeFile !== before) this.trigger("file-open", this.activeFile);
  }

  get activeLeaf(): WorkspaceLeaf | null {
    return this.#active;
  }

  get activeFile(): TFile | null {
    return this.getActiveViewOfType(FileView)?.file ?? null;
  }

  // -- for the host --

  registerView(type: string, make: (leaf: WorkspaceLeaf) => View): void {
    this.#views.set(type, make);
  }

  viewOf(type: string, leaf: WorkspaceLeaf): View {
    return this.#views.get(type)?.(leaf) ?? new OtherView(leaf);
  }

  addLeaf(win: FakeWindow = this.window): WorkspaceLeaf {
    const leaf = new WorkspaceLeaf(this, { win, doc: win.document });
    this.#leaves.push(leaf);
    this.trigger("layout-change");
    return leaf;
  }

  remove(leaf: WorkspaceLeaf): void {
    this.#leaves.splice(this.#leaves.indexOf(leaf), 1);
    this.trigger("layout-change");
    if (this.#active === leaf) this.setActiveLeaf(this.#leaves.at(-1) ?? null);
  }

  /** A leaf shows a file; the text is read as Obsidian reads it. */
  showFile(leaf: WorkspaceLeaf, path: string): void {
    const before = this.activeFile;
    const file = this.vault.file(path);
    const read = () => readFileSync(this.vault.absolute(path), "utf8");
    leaf.show(file.extension === "md" ? new MarkdownView(leaf, file, read()) : new FileView(leaf, file, TYPES[file.extension]));
    this.trigger("layout-change");
    if (this.#active === leaf && this.activeFile !== before) this.trigger("file-open", this.activeFile);
  }
}
