/** The plugin: tells daemons what Obsidian shows, and shows what agents saw. */

import { join } from "node:path";

import { FileSystemAdapter, Notice, Plugin } from "obsidian";
import type { Client } from "workspaced-client";
import { Publisher, type PublisherStatus } from "workspaced-client/publisher";

import { LastCalls } from "./calls.js";
import { CALLS_VIEW, CallsView } from "./calls_view.js";
import { addCommands, NO_DAEMON } from "./commands.js";
import { ConnectDialogue, StartDialogue, textOf, ToldDialogue } from "./dialogues.js";
import { DEFAULTS, type Preferences, preferencesOf } from "./preferences.js";
import { inspect, startDaemon } from "./program.js";
import { SettingsTab } from "./settings_tab.js";
import { Sight } from "./sight.js";
import { watch, watchSelection } from "./watch.js";
import { health, hover } from "./words.js";

/** Between two starts of a daemon: one that fails is not started again and again. */
const START_AGAIN_MS = 60_000;
const IDLE: PublisherStatus = { daemons: [], unserved: [], waiting: 0 };

let windows = 0;

export default class WorkspacedPlugin extends Plugin {
  /** Undefined until the layout is ready. */
  publisher: Publisher | undefined;
  #preferences: Preferences = DEFAULTS;
  #folder = "";
  #sight: Sight | undefined;
  #item: HTMLElement | undefined;
  #startedAt = -Infinity;
  /** The socket that the present publisher uses. */
  #socket = "";
  readonly #calls = new LastCalls(() => this.#show());

  override async onload(): Promise<void> {
    const { adapter } = this.app.vault;
    if (!(adapter instanceof FileSystemAdapter)) return; // no folder: no daemon can serve it
    this.#folder = adapter.getBasePath();
    this.#preferences = preferencesOf(await this.loadData());
    this.#sight = new Sight(
      this.app,
      (path) => this.#absolute(path),
      () => this.#preferences.shareSelection,
    );
    this.#addControls();
    watchSelection(this, () => this.publisher?.touch());
    this.app.workspace.onLayoutReady(() => this.#begin());
  }

  override onunload(): void {
    this.#calls.follow(undefined);
    void this.publisher?.stop();
  }

  /** The user has just switched the plugin on, so it may ask. */
  override onUserEnable(): void {
    this.app.workspace.onLayoutReady(() => void this.#askOnce());
  }

  // -- life --

  #begin(): void {
    const sight = this.#sight;
    if (sight === undefined) return;
    this.#publish(sight);
    watch(this, () => sight.leaves(), {
      touch: () => {
        sight.remember();
        this.publisher?.touch();
      },
      renamed: (from, to) => {
        sight.renamed(from, to);
        this.publisher?.renamed(this.#absolute(from), this.#absolute(to));
      },
      deleted: (path) => this.publisher?.deleted(this.#absolute(path)),
    });
    this.registerEvent(
      this.app.workspace.on("quit", (tasks) => {
        tasks.add(async () => this.publisher?.stop());
      }),
    );
  }

  #publish(sight: Sight): void {
    windows += 1;
    this.#socket = this.#preferences.socket;
    this.publisher = new Publisher({
      name: `obsidian-${process.pid}-${windows}`,
      commands: "obsidian",
      look: () => sight.look(),
      socket: this.#socket || undefined,
      onChange: (status) => this.#changed(status),
    });
  }

  /** Keeps the preferences; another socket means another publisher. */
  async #keep(): Promise<void> {
    await this.saveData(this.#preferences);
    const sight = this.#sight;
    if (this.publisher !== undefined && sight !== undefined && this.#socket !== this.#preferences.socket) {
      void this.publisher.stop();
      this.#publish(sight);
    }
    this.publisher?.touch();
  }

  // -- what is shown --

  #addControls(): void {
    this.registerView(CALLS_VIEW, (leaf) => new CallsView(leaf, this.#calls, () => this.#client !== undefined));
    this.addRibbonIcon("eye", "What the agent saw", () => void this.#showCalls());
    this.#item = this.addStatusBarItem();
    this.#item.addClass("workspaced-status", "mod-clickable");
    this.registerDomEvent(this.#item, "click", () => this.#showTold());
    this.#show();
    this.addSettingTab(
      new SettingsTab(this.app, this, {
        preferences: this.#preferences,
        keep: () => this.#keep(),
        showTold: () => this.#showTold(),
      }),
    );
    addCommands(this, {
      publisher: () => this.publisher,
      active: () => (this.#sight?.active == null ? null : this.#absolute(this.#sight.active)),
      client: () => this.#client,
      showTold: () => this.#showTold(),
      showCalls: () => void this.#showCalls(),
      inspect: () => this.#inspect(),
      connectAgent: () => new ConnectDialogue(this.app, this.#preferences, this.#folder).open(),
    });
  }

  #changed(status: PublisherStatus): void {
    this.#calls.follow(this.#client);
    this.#show();
    if (health(status) === "not found" && this.#preferences.startDaemon) void this.#start();
  }

  /** Shows the status and the calls as they are now. */
  #show(): void {
    const status = this.publisher?.status() ?? IDLE;
    this.#item?.setText(`workspaced: ${health(status)}`);
    this.#item?.setAttr("aria-label", hover(status, this.#calls.calls[0]));
    for (const { view } of this.app.workspace.getLeavesOfType(CALLS_VIEW)) {
      if (view instanceof CallsView) view.show();
    }
  }

  #showTold(): void {
    new ToldDialogue(this.app, this.publisher?.status() ?? IDLE).open();
  }

  async #showCalls(): Promise<void> {
    const { workspace } = this.app;
    const there = workspace.getLeavesOfType(CALLS_VIEW)[0];
    const leaf = there ?? workspace.getRightLeaf(false);
    if (leaf === null) return;
    if (there === undefined) await leaf.setViewState({ type: CALLS_VIEW, active: true });
    await workspace.revealLeaf(leaf);
  }

  // -- the daemon --

  /** Of the daemon that serves the active note, or else the vault. */
  get #client(): Client | undefined {
    const active = this.#sight?.active ?? "";
    return this.publisher?.clientFor(this.#absolute(active)) ?? this.publisher?.clientFor(this.#folder);
  }

  async #inspect(): Promise<void> {
    const active = this.#absolute(this.#sight?.active ?? "");
    const socket = this.publisher?.socketFor(active) ?? this.publisher?.socketFor(this.#folder);
    const state = await this.#client?.state();
    if (socket === undefined || state === undefined) throw new Error(NO_DAEMON);
    await inspect(this.#preferences.command, socket, state.seq);
  }

  async #askOnce(): Promise<void> {
    await this.publisher?.settled();
    if (this.#preferences.wasAsked || this.#client !== undefined) return;
    new StartDialogue(this.app, this.#preferences, this.#folder, async (starts) => {
      this.#preferences.startDaemon = starts;
      this.#preferences.wasAsked = true;
      await this.#keep();
      if (starts) await this.#start();
    }).open();
  }

  async #start(): Promise<void> {
    if (performance.now() - this.#startedAt < START_AGAIN_MS) return;
    this.#startedAt = performance.now();
    try {
      await startDaemon(this.#preferences.command, this.#folder, this.#preferences.socket);
      this.publisher?.touch();
    } catch (error) {
      new Notice(`The daemon was not started: ${textOf(error)}`, 0);
    }
  }

  #absolute(path: string): string {
    return join(this.#folder, path);
  }
}
