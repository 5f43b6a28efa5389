/** What the status bar and the dialogue "What is told" say. Pure. */

import type { DaemonStatus, PublisherStatus, VaultStatus } from "workspaced-client/publisher";

import type { Call } from "./calls.js";

export type Health = "connected" | "paused" | "not found" | "idle";

/** How it stands with the daemons that concern this window. */
export function health({ daemons, unserved }: PublisherStatus): Health {
  const connected = daemons.filter(({ state }) => state === "connected");
  if (connected.some(({ paused }) => paused !== undefined)) return "paused";
  if (connected.length > 0) return "connected";
  return unserved.length > 0 ? "not found" : "idle";
}

/** For the status bar's hover: vault, active note, last call by whom. */
export function hover(status: PublisherStatus, last: Call | undefined): string {
  const vaults = status.daemons.flatMap((daemon) => (daemon.state === "connected" ? daemon.vaults : []));
  const shown = vaults.find(({ active }) => active !== null) ?? vaults[0];
  const lines = {
    idle: ["No note is open."],
    "not found": ["No daemon serves this vault: your agents know nothing of it."],
    paused: ["Paused: nothing is recorded, and agents are answered nothing."],
    connected: [],
  }[health(status)];
  return [
    ...lines,
    ...(shown === undefined ? [] : [`Vault: ${shown.path}`, `Active note: ${shown.active ?? "none"}`]),
    ...(last === undefined ? [] : [`Last call: ${last.what} by ${last.caller}, ${when(last.time)}`]),
  ].join("\n");
}

/** One paragraph for each daemon, and one for what is told to nobody. */
export function told(status: PublisherStatus): string[][] {
  const unserved = status.unserved.map((path) => `Told to nobody: ${path}`);
  const waiting = status.waiting === 0 ? [] : [`${status.waiting} pins, renames or deletions wait for a daemon.`];
  const problem = status.problem === undefined ? [] : [`Problem: ${status.problem}`];
  const rest = [...unserved, ...waiting, ...problem];
  const nothing = status.daemons.length === 0 && rest.length === 0 ? ["Nothing is told to anybody."] : [];
  return [...status.daemons.map(daemonLines), [...nothing, ...rest]].filter((lines) => lines.length > 0);
}

function daemonLines({ socket, state, version, workspace, problem, paused, vaults }: DaemonStatus): string[] {
  const name = workspace === undefined ? socket : `${workspace} (${version}) on ${socket}`;
  const until = paused === undefined ? [] : [paused.until ? `Paused until ${when(paused.until)}` : "Paused"];
  return [
    `Daemon ${name}: ${state}`,
    ...until,
    ...(problem === undefined ? [] : [`Problem: ${problem}`]),
    ...vaults.flatMap(vaultLines),
  ];
}

function vaultLines({ path, active, focused, tabs, pins, selection }: VaultStatus): string[] {
  const list = (notes: readonly string[]): string => notes.join(", ") || "none";
  const lines = selection === null ? "none" : `lines ${selection.startLine} to ${selection.endLine}`;
  const text = selection?.text === undefined ? "" : `, with their text (${selection.text.length} characters)`;
  return [
    `Vault ${path}`,
    `Active note: ${active ?? "none"}${focused ? ", and you are in this window" : ""}`,
    `Tabs: ${list(tabs)}`,
    `Pins: ${list(pins)}`,
    `Selection: ${lines}${text}`,
  ];
}

/** A moment in the user's own time zone. */
export function when(time: string): string {
  const moment = new Date(time);
  return Number.isNaN(moment.getTime()) ? time : moment.toLocaleTimeString();
}
