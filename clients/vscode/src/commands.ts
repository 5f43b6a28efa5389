/** The commands of the palette. Each says what came of it. */

import * as vscode from "vscode";
import type { Outcome, Publisher } from "workspaced-client/publisher";

import type { ToldPage } from "./told_page.js";

export interface Parts {
  readonly publisher: () => Publisher;
  /** The path of a file that may be told; without one, of the active note. */
  readonly noteAt: (uri: vscode.Uri | undefined) => string | null;
  readonly page: ToldPage;
}

const PAUSES: readonly (vscode.QuickPickItem & { readonly duration: string })[] = [
  { label: "Until I resume", duration: "" },
  { label: "15 minutes", duration: "15m" },
  { label: "1 hour", duration: "1h" },
  { label: "8 hours", duration: "8h" },
];
const SAID_MS = 5_000;

export function registerCommands(parts: Parts): vscode.Disposable {
  const commands: Record<string, (...args: never[]) => Promise<void>> = {
    pin: (uri?: vscode.Uri) => pin(parts, uri),
    unpin: (uri?: vscode.Uri) => unpin(parts, uri),
    pause: (duration?: string) => pause(parts, duration),
    resume: async () => say(await parts.publisher().resume(), "Resumed."),
    copyContext: () => copyContext(parts),
    inspect: () => inspect(parts),
    connectAgent: async () => inTerminal("connect"),
    showTold: () => parts.page.open(),
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`workspaced.${name}`, run)),
  );
}

async function pin({ publisher, noteAt }: Parts, uri?: vscode.Uri): Promise<void> {
  const path = noteAt(uri);
  if (path === null) return sayNoNote();
  say([await publisher().pin(path)], (note) => `Pinned ${note} for agents.`);
}

async function unpin({ publisher, noteAt }: Parts, uri?: vscode.Uri): Promise<void> {
  const path = noteAt(uri);
  if (path === null) return sayNoNote();
  say([await publisher().unpin(path)], (note) => `Unpinned ${note}.`);
}

/** @param duration as `30m`; "" is until it is resumed. Without one the user is asked. */
async function pause({ publisher }: Parts, duration?: string): Promise<void> {
  const isGiven = typeof duration === "string";
  const chosen = isGiven ? duration : (await vscode.window.showQuickPick(PAUSES, { title: "Pause for how long?" }))?.duration;
  if (chosen === undefined) return;
  say(await publisher().pause(chosen), "Paused: nothing is recorded, and agents are answered nothing.");
}

async function copyContext({ publisher, noteAt }: Parts): Promise<void> {
  const path = noteAt(undefined);
  if (path === null) return sayNoNote();
  const client = publisher().clientFor(path);
  if (client === undefined) return sayProblem(`No daemon serves ${path}.`);
  try {
    const answer = await client.call("get_workspace_context");
    await vscode.env.clipboard.writeText(`${JSON.stringify(answer, null, 2)}\n`);
    sayBriefly("Copied what get_workspace_context answers agents.");
  } catch (error) {
    sayProblem(error instanceof Error ? error.message : String(error));
  }
}

/** Shows what agents saw up to now, also when more has happened since. */
async function inspect({ publisher, noteAt }: Parts): Promise<void> {
  const path = noteAt(undefined);
  if (path === null) return sayNoNote();
  const [client, socket] = [publisher().clientFor(path), publisher().socketFor(path)];
  if (client === undefined || socket === undefined) return sayProblem(`No daemon serves ${path}.`);
  try {
    const { seq } = await client.state();
    inTerminal("inspect", "--socket", socket, "--at", String(seq));
  } catch (error) {
    sayProblem(error instanceof Error ? error.message : String(error));
  }
}

/** Runs the program where the user sees what it says and does, answers what it asks, and ends it. */
function inTerminal(name: string, ...words: string[]): void {
  const command = vscode.workspace.getConfiguration("workspaced").get("command", "workspaced");
  const terminal = vscode.window.createTerminal({ name: `workspaced ${name}` });
  terminal.show();
  terminal.sendText([command, name, ...words].map(quoted).join(" "));
}

function quoted(word: string): string {
  return /^[\w./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Says what became of something: every problem, or else that it was done. */
function say(outcomes: readonly Outcome[], done: string | ((note: string) => string)): void {
  const problems = new Set(outcomes.flatMap((each) => (each.ok ? [] : each.message)));
  for (const problem of problems) sayProblem(problem);
  const first = outcomes.find((each) => each.ok);
  if (outcomes.length === 0) sayProblem("No daemon is connected. Open a note that one serves.");
  else if (problems.size === 0 && first?.ok) sayBriefly(typeof done === "string" ? done : done(first.note ?? ""));
}

function sayNoNote(): void {
  sayProblem("No file is open that may be told: the setting workspaced.files says which.");
}

/** Nobody waits for the user to read it. */
function sayProblem(message: string): void {
  void vscode.window.showWarningMessage(`workspaced: ${message}`);
}

function sayBriefly(message: string): void {
  vscode.window.setStatusBarMessage(`workspaced: ${message}`, SAID_MS);
}
