/** The page of "Show What Is Told": a text that cannot be edited and follows what is told. */

import * as vscode from "vscode";

const SCHEME = "workspaced";
const PAGE = vscode.Uri.from({ scheme: SCHEME, path: "What is told.md" });

export class ToldPage implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changes = new vscode.EventEmitter<vscode.Uri>();
  readonly #registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  readonly #text: () => string;
  readonly onDidChange = this.#changes.event;

  constructor(text: () => string) {
    this.#text = text;
  }

  provideTextDocumentContent(): string {
    return this.#text();
  }

  async open(): Promise<void> {
    this.changed();
    await vscode.window.showTextDocument(PAGE, { preview: true });
  }

  changed(): void {
    this.#changes.fire(PAGE);
  }

  dispose(): void {
    vscode.Disposable.from(this.#registered, this.#changes).dispose();
  }
}
