/** What is told, in words: the status bar, its hover, and the page of "Show What Is Told". Pure. */

import type { DaemonStatus, PublisherStatus, VaultStatus } from "workspaced-client/publisher";

export type Condition = "connected" | "paused" | "not found";

/** The last call of a tool by an agent. */
export interface LastCall {
  readonly tool: string;
  readonly caller: string;
  /** RFC 3339. */
  readonly time: string;
}

/** Paused only if all are: one that goes on is what the user has to know of. */
export function conditionOf({ daemons }: PublisherStatus): Condition {
  const connected = daemons.filter(({ state }) => state === "connected");
  if (connected.length === 0) return "not found";
  return connected.every(({ paused }) => paused) ? "paused" : "connected";
}

/** Lines of Markdown for the hover. */
export function hoverOf(status: PublisherStatus, callOf: (socket: string) => LastCall | undefined): string {
  const connected = status.daemons.filter(({ state }) => state === "connected");
  if (connected.length === 0) return `**workspaced**: ${absence(status)}`;
  const paragraphs = connected.flatMap((daemon) => {
    const vaults = daemon.vaults.map(({ path, active }) => `- ${code(path)}: ${active ? code(active) : "no note"}`);
    const call = callOf(daemon.socket);
    const last = call && `Last call: ${code(call.tool)} by ${code(call.caller)}, ${clockTime(call.time)}`;
    return [pauseOf(daemon) ?? "Agents know what you look at.", vaults.join("\n"), last ?? "No agent has called yet."];
  });
  return ["**workspaced**", ...paragraphs].filter(Boolean).join("\n\n");
}

/** All that is told to whom, as text. */
export function toldOf(status: PublisherStatus): string {
  const lines = ["# What workspaced is told", ""];
  if (status.daemons.length === 0) lines.push(absence(status), "");
  for (const daemon of status.daemons) {
    const version = daemon.version === undefined ? "" : `, version ${daemon.version}`;
    lines.push(`## ${daemon.socket}`, "", `${capital(daemon.state)}${version}.`);
    const pause = pauseOf(daemon);
    if (pause !== undefined) lines.push(pause);
    if (daemon.problem !== undefined) lines.push(`Problem: ${daemon.problem}`);
    for (const vault of daemon.vaults) {
      lines.push("", `### ${vault.path}`, "");
      lines.push(`- active note: ${vault.active ?? "none"}`);
      lines.push(`- selection: ${selectionOf(vault)}`);
      lines.push(`- tabs: ${vault.tabs.join(", ") || "none"}`);
      lines.push(`- pins of this window: ${vault.pins.join(", ") || "none"}`);
    }
    lines.push("");
  }
  if (status.unserved.length > 0) {
    lines.push("## Told to nobody", "", "No daemon serves their folders.", "");
    lines.push(...status.unserved.map((path) => `- ${path}`), "");
  }
  if (status.waiting > 0) lines.push(`${status.waiting} pins, renames or deletions wait for a daemon.`, "");
  if (status.problem !== undefined) lines.push(`Problem: ${status.problem}`, "");
  return lines.join("\n");
}

function selectionOf({ selection }: VaultStatus): string {
  if (selection === null) return "none";
  const { startLine, endLine, text } = selection;
  const lines = startLine === endLine ? `line ${startLine}` : `lines ${startLine} to ${endLine}`;
  return `${lines}, ${text === undefined ? "without" : "with"} its text`;
}

function absence({ daemons, unserved }: PublisherStatus): string {
  const problem = daemons.find((daemon) => daemon.problem)?.problem;
  if (problem !== undefined) return problem;
  const [note] = unserved;
  return note === undefined
    ? "no note is open."
    : `no daemon serves ${code(note)}. Start one: ${code("workspaced start FOLDER")}`;
}

function pauseOf({ paused }: DaemonStatus): string | undefined {
  if (!paused) return undefined;
  return paused.until ? `Paused until ${clockTime(paused.until)}.` : "Paused until you resume.";
}

function clockTime(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

function code(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
