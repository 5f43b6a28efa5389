/** Dialogues: what is told, an agent to connect, whether to start the daemon. */

import { type App, Modal, Notice, Setting } from "obsidian";
import type { PublisherStatus } from "workspaced-client/publisher";

import type { Preferences } from "./preferences.js";
import { type AgentProgram, agentPrograms, connectAgent, serveCommand } from "./program.js";
import { told } from "./words.js";

/** What this window tells to whom, at this moment. */
export class ToldDialogue extends Modal {
  readonly #status: PublisherStatus;

  constructor(app: App, status: PublisherStatus) {
    super(app);
    this.#status = status;
  }

  override onOpen(): void {
    this.setTitle("What is told");
    for (const [first, ...lines] of told(this.#status)) {
      this.contentEl.createEl("p", { text: first ?? "", cls: "workspaced-told-head" });
      const list = this.contentEl.createEl("ul");
      for (const line of lines) list.createEl("li", { text: line });
    }
  }

  override onClose(): void {
    this.contentEl.empty();
  }
}

/** Connects an agent's program with the vault, by `workspaced connect`. */
export class ConnectDialogue extends Modal {
  readonly #preferences: Preferences;
  readonly #folder: string;

  constructor(app: App, preferences: Preferences, folder: string) {
    super(app);
    this.#preferences = preferences;
    this.#folder = folder;
  }

  override async onOpen(): Promise<void> {
    this.setTitle("Connect an agent");
    try {
      this.#offer(await agentPrograms(this.#preferences.command));
    } catch (error) {
      this.contentEl.createEl("p", { text: textOf(error) });
    }
  }

  override onClose(): void {
    this.contentEl.empty();
  }

  #offer(programs: readonly AgentProgram[]): void {
    for (const { runtime, title, installed } of programs) {
      new Setting(this.contentEl)
        .setName(title)
        .setDesc(installed ? "" : "Not found on this machine.")
        .addButton((button) => button.setButtonText("Connect").onClick(() => this.#connect(runtime)));
    }
  }

  async #connect(runtime: string): Promise<void> {
    try {
      new Notice(await connectAgent(this.#preferences.command, runtime, this.#folder), 0);
      this.close();
    } catch (error) {
      new Notice(textOf(error), 0);
    }
  }
}

/** Asks once whether to start the daemon where none runs, and for the program's path. */
export class StartDialogue extends Modal {
  readonly #preferences: Preferences;
  readonly #folder: string;
  readonly #onAnswer: (starts: boolean) => Promise<void>;

  /** @param onAnswer keeps the answer; the program's path is in the preferences by then. */
  constructor(app: App, preferences: Preferences, folder: string, onAnswer: (starts: boolean) => Promise<void>) {
    super(app);
    this.#preferences = preferences;
    this.#folder = folder;
    this.#onAnswer = onAnswer;
  }

  override onOpen(): void {
    this.setTitle("Start the daemon for this vault?");
    const command = serveCommand(this.#folder, this.#preferences.socket);
    this.contentEl.createEl("p", { text: `No daemon serves this vault. To start one by hand: ${command}` });
    new Setting(this.contentEl).setName("Path of the program").addText((text) =>
      text.setValue(this.#preferences.command).onChange((value) => {
        this.#preferences.command = value.trim() || "workspaced";
      }),
    );
    new Setting(this.contentEl)
      .addButton((button) => button.setButtonText("Start when needed").setCta().onClick(() => this.#answer(true)))
      .addButton((button) => button.setButtonText("Not now").onClick(() => this.#answer(false)));
  }

  override onClose(): void {
    this.contentEl.empty();
  }

  #answer(starts: boolean): void {
    this.close();
    void this.#onAnswer(starts);
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
