/** The item in the status bar: connected, paused or not found; its hover says what and to whom. */

import * as vscode from "vscode";
import type { PublisherStatus } from "workspaced-client/publisher";

import { type Condition, conditionOf, hoverOf, type LastCall } from "./words.js";

const TEXTS: Record<Condition, string> = {
  connected: "$(eye) workspaced",
  paused: "$(debug-pause) workspaced: paused",
  "not found": "$(eye-closed) workspaced: not found",
};

export class StatusBar implements vscode.Disposable {
  readonly #item: vscode.StatusBarItem;

  constructor() {
    this.#item = vscode.window.createStatusBarItem("workspaced", vscode.StatusBarAlignment.Right);
    this.#item.name = "workspaced";
    this.#item.command = "workspaced.showTold";
    this.#item.show();
  }

  /** VS Code is only told of what is other than before. */
  show(status: PublisherStatus, callOf: (socket: string) => LastCall | undefined): void {
    const text = TEXTS[conditionOf(status)];
    if (text !== this.#item.text) this.#item.text = text;
    const hover = hoverOf(status, callOf);
    const before = this.#item.tooltip;
    if (!(before instanceof vscode.MarkdownString) || before.value !== hover) {
      this.#item.tooltip = new vscode.MarkdownString(hover);
    }
  }

  dispose(): void {
    this.#item.dispose();
  }
}
