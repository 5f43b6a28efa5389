/** The plugin's page in Obsidian's settings. */

import { type App, type Plugin, PluginSettingTab, Setting } from "obsidian";

import type { Preferences } from "./preferences.js";

const SOCKET =
  "Empty: each daemon that serves the folder of an open note. In a sandbox (Flatpak, Snap): a path that the " +
  "sandbox sees too, as given to workspaced serve --socket.";
const PROGRAM = "The path of workspaced; needed to start the daemon and to connect agents.";

export interface Settled {
  readonly preferences: Preferences;
  /** Keeps the preferences and goes by them. */
  keep(): Promise<void>;
  showTold(): void;
}

export class SettingsTab extends PluginSettingTab {
  readonly #settled: Settled;

  constructor(app: App, plugin: Plugin, settled: Settled) {
    super(app, plugin);
    this.#settled = settled;
  }

  override display(): void {
    this.containerEl.empty();
    this.#text("Socket", SOCKET, "socket", "");
    this.#text("Program", PROGRAM, "command", "workspaced");
    this.#toggle("Start the daemon", "Where none serves this vault, once a note is open.", "startDaemon");
    this.#toggle("Share the selection", "Tell daemons which lines are selected, with their text.", "shareSelection");
    new Setting(this.containerEl)
      .setName("What is told")
      .setDesc("Everything that this window tells, and to whom.")
      .addButton((button) => button.setButtonText("Show").onClick(() => this.#settled.showTold()));
  }

  #text(name: string, description: string, key: "socket" | "command", usual: string): void {
    const { preferences } = this.#settled;
    new Setting(this.containerEl)
      .setName(name)
      .setDesc(description)
      .addText((text) =>
        text
          .setPlaceholder(usual)
          .setValue(preferences[key])
          .onChange(async (value) => {
            preferences[key] = value.trim() || usual;
            await this.#settled.keep();
          }),
      );
  }

  #toggle(name: string, description: string, key: "startDaemon" | "shareSelection"): void {
    const { preferences } = this.#settled;
    new Setting(this.containerEl)
      .setName(name)
      .setDesc(description)
      .addToggle((toggle) =>
        toggle.setValue(preferences[key]).onChange(async (value) => {
          preferences[key] = value;
          await this.#settled.keep();
        }),
      );
  }
}
