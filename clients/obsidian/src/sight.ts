/** What Obsidian shows of notes and other files, as it is this very moment. Reads Obsidian, loads no leaf, touches no file. */

import { type App, type Editor, FileView, MarkdownView, type WorkspaceLeaf } from "obsidian";
import type { EditorView } from "workspaced-client/publisher";

/** Of longer selections only the lines are told: the text is not even made. */
const SELECTION_CHARS_MAX = 65_536;

/** Obsidian's own views that say something about the file which another one shows, and name it as theirs. */
const ABOUT_A_FILE = new Set(["backlink", "file-properties", "footnotes", "localgraph", "outgoing-link", "outline"]);

type Selection = EditorView["selection"];

export class Sight {
  readonly #app: App;
  readonly #absolute: (path: string) => string;
  readonly #sharesSelection: () => boolean;
  /** The note, or other file, that was active last, relative to the vault. */
  #active: string | null = null;

  /** @param absolute the absolute path of one that is relative to the vault. */
  constructor(app: App, absolute: (path: string) => string, sharesSelection: () => boolean) {
    this.#app = app;
    this.#absolute = absolute;
    this.#sharesSelection = sharesSelection;
  }

  /** The active note, relative to the vault; kept while something else is in front, as long as it is open. */
  get active(): string | null {
    return this.#active;
  }

  /** Notes which note is in front; a look comes later, when it may be behind something else. */
  remember(): void {
    const view = this.#app.workspace.getActiveViewOfType(FileView);
    const file = view && fileIn(view.leaf);
    if (file) this.#active = file;
  }

  look(): EditorView {
    this.remember();
    const leaves = this.leaves();
    const open = leaves.flatMap((leaf) => {
      const file = fileIn(leaf);
      return file === null ? [] : [{ file, pinned: leaf.getViewState().pinned ?? false }];
    });
    const view = this.#app.workspace.getActiveViewOfType(MarkdownView);
    if (!open.some(({ file }) => file === this.#active)) this.#active = null;
    return {
      active: this.#active === null ? null : this.#absolute(this.#active),
      focused: this.#hasFocus(leaves),
      tabs: open.map(({ file }) => ({ path: this.#absolute(file) })),
      pins: open.flatMap(({ file, pinned }) => (pinned ? [this.#absolute(file)] : [])),
      selection: view?.file && this.#sharesSelection() ? this.#selection(view, view.file.path) : null,
    };
  }

  /** Every leaf: of the main area, of the sidebars and of pop-out windows. */
  leaves(): WorkspaceLeaf[] {
    const leaves: WorkspaceLeaf[] = [];
    this.#app.workspace.iterateAllLeaves((leaf) => {
      leaves.push(leaf);
    });
    return leaves;
  }

  /** Obsidian gave a file another path. */
  renamed(from: string, to: string): void {
    if (this.#active === from) this.#active = to;
  }

  /** Whether the user is in one of Obsidian's windows; pop-outs have documents of their own. */
  #hasFocus(leaves: readonly WorkspaceLeaf[]): boolean {
    const documents = new Set([this.#app.workspace.containerEl.ownerDocument]);
    for (const leaf of leaves) documents.add(leaf.getContainer().doc);
    return [...documents].some((each) => each.hasFocus());
  }

  #selection(view: MarkdownView, path: string): Selection {
    if (view.getMode() !== "source") return null; // in reading mode nothing says which lines are selected
    const lines = selectedLines(view.editor);
    return lines === null ? null : { path: this.#absolute(path), ...lines };
  }
}

/** The file that a leaf shows, be it a note, a canvas, a PDF, a picture or a plugin's own; null: it shows none. */
function fileIn(leaf: WorkspaceLeaf): string | null {
  const { type, state } = leaf.getViewState();
  const file = state?.["file"];
  const isOfFile = !ABOUT_A_FILE.has(type) && (leaf.isDeferred || leaf.view.navigation);
  return isOfFile && typeof file === "string" && file !== "" ? file : null;
}

/** The selected lines, from 1 on, and their text where it is not too long. */
function selectedLines(editor: Editor): Omit<NonNullable<Selection>, "path"> | null {
  if (!editor.somethingSelected()) return null;
  const [from, to] = [editor.getCursor("from"), editor.getCursor("to")];
  const endsBeforeLine = to.ch === 0 && to.line > from.line;
  const lines = { startLine: from.line + 1, endLine: endsBeforeLine ? to.line : to.line + 1 };
  const isLong = editor.posToOffset(to) - editor.posToOffset(from) > SELECTION_CHARS_MAX;
  return isLong ? lines : { ...lines, text: editor.getRange(from, to) };
}
