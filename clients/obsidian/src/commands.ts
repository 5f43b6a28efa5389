/** The plugin's commands. */

import { Notice, type Plugin } from "obsidian";
import type { Client } from "workspaced-client";
import type { Outcome, Publisher } from "workspaced-client/publisher";

import { textOf } from "./dialogues.js";

const SOME_TIME = "30m";
export const NO_DAEMON = "No daemon serves this vault, or no note of it was opened yet.";

export interface Commanded {
  /** Undefined until the layout is ready. */
  readonly publisher: () => Publisher | undefined;
  /** The absolute path of the active note. */
  readonly active: () => string | null;
  /** Of the daemon that serves what is open. */
  readonly client: () => Client | undefined;
  showTold(): void;
  showCalls(): void;
  inspect(): Promise<void>;
  connectAgent(): void;
}

type Tell = (publisher: Publisher) => Promise<readonly Outcome[]>;

export function addCommands(plugin: Plugin, commanded: Commanded): void {
  const onNote = (id: "pin" | "unpin", name: string, verb: string): void => {
    plugin.addCommand({
      id,
      name,
      checkCallback: (isChecking) => {
        const [publisher, path] = [commanded.publisher(), commanded.active()];
        if (publisher === undefined || path === null) return false;
        if (!isChecking) void publisher[id](path).then((outcome) => say(verb, [outcome]));
        return true;
      },
    });
  };
  const add = (id: string, name: string, callback: () => void): void => {
    plugin.addCommand({ id, name, callback });
  };
  const toAll = (id: string, name: string, verb: string, tell: Tell): void =>
    add(id, name, () => {
      const publisher = commanded.publisher();
      if (publisher !== undefined) void tell(publisher).then((outcomes) => say(verb, outcomes));
    });

  onNote("pin", "Pin note for agents", "Pinned");
  onNote("unpin", "Unpin note for agents", "Unpinned");
  toAll("pause", "Pause until resumed", "Paused", (publisher) => publisher.pause());
  toAll("pause-30m", "Pause for 30 minutes", "Paused", (publisher) => publisher.pause(SOME_TIME));
  toAll("resume", "Resume", "Resumed", (publisher) => publisher.resume());
  add("show-told", "Show what is told", () => commanded.showTold());
  add("show-calls", "Show what the agent saw", () => commanded.showCalls());
  add("copy-context", "Copy what agents see", () => void copyContext(commanded));
  add("inspect", "Show the inspector at this moment", () => {
    commanded.inspect().catch((error: unknown) => new Notice(textOf(error), 0));
  });
  add("connect-agent", "Connect an agent", () => commanded.connectAgent());
}

/** What an agent that asks would be answered, as it would get it. */
async function copyContext(commanded: Commanded): Promise<void> {
  try {
    const client = commanded.client();
    if (client === undefined) throw new Error(NO_DAEMON);
    const answer = await client.call("get_workspace_context", { includeContent: true });
    await navigator.clipboard.writeText(JSON.stringify(answer, null, 2));
    new Notice("Copied what agents see.");
  } catch (error) {
    new Notice(textOf(error), 0);
  }
}

function say(verb: string, outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes) {
    new Notice(outcome.ok ? `${verb}: ${outcome.note ?? outcome.vault}` : outcome.message);
  }
}
