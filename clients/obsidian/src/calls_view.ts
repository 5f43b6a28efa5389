/** The view "What the agent saw": the last calls, newest first. */

import { ItemView, type WorkspaceLeaf } from "obsidian";

import type { LastCalls } from "./calls.js";
import { when } from "./words.js";

export const CALLS_VIEW = "workspaced-calls";

export class CallsView extends ItemView {
  override navigation = false;
  readonly #calls: LastCalls;
  readonly #hasDaemon: () => boolean;

  constructor(leaf: WorkspaceLeaf, calls: LastCalls, hasDaemon: () => boolean) {
    super(leaf);
    this.icon = "eye";
    this.#calls = calls;
    this.#hasDaemon = hasDaemon;
  }

  getViewType(): string {
    return CALLS_VIEW;
  }

  getDisplayText(): string {
    return "What the agent saw";
  }

  override async onOpen(): Promise<void> {
    this.show();
  }

  /** Shows the calls as they are now. */
  show(): void {
    const { calls, problem } = this.#calls;
    this.contentEl.empty();
    this.contentEl.addClass("workspaced-calls");
    if (problem !== undefined) this.contentEl.createEl("p", { text: problem, cls: "workspaced-problem" });
    if (calls.length === 0) {
      const text = this.#hasDaemon() ? "No agent has asked yet." : "No daemon serves this vault.";
      this.contentEl.createEl("p", { text });
      return;
    }
    const list = this.contentEl.createEl("ol", { cls: "workspaced-calls-list" });
    for (const { seq, time, caller, what, ok, size } of calls) {
      const item = list.createEl("li", { cls: ok ? "workspaced-call" : "workspaced-call workspaced-problem" });
      item.createEl("span", { text: what, cls: "workspaced-call-what" });
      const by = `${caller}, ${when(time)}, ${ok ? size : "refused"}`;
      item.createEl("span", { text: by, cls: "workspaced-call-by" });
      item.setAttr("aria-label", `workspaced calls show ${seq}`);
    }
  }
}
