/** Runs the program `workspaced`: to start a daemon, and to connect agents. */

import { execFile, spawn } from "node:child_process";

/** A daemon starts within this. */
const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;

/** An agent's program as `workspaced connect --json` lists it. */
export interface AgentProgram {
  readonly runtime: string;
  readonly title: string;
  readonly installed: boolean;
}

/** What a person types to have a daemon for a folder. */
export function serveCommand(folder: string, socket: string): string {
  const words = ["workspaced", "serve", "--vault", folder, ...(socket === "" ? [] : ["--socket", socket])];
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Starts a daemon for the folder where none runs: exactly one, however many programs want one at once. */
export async function startDaemon(command: string, folder: string, socket: string): Promise<void> {
  // Publishing nothing starts it, under the folder's own workspace where the default one serves other folders.
  const more = socket === "" ? [] : ["--socket", socket];
  await run(command, ["publish", "--vault", folder, ...more, "--stdin"]);
}

/** The programs of agents that can be connected; those installed first. */
export async function agentPrograms(command: string): Promise<AgentProgram[]> {
  const { programs } = JSON.parse(await run(command, ["connect", "--json"])) as { programs: AgentProgram[] };
  return [...programs].sort((a, b) => Number(b.installed) - Number(a.installed));
}

/** What `workspaced connect` says. */
export function connectAgent(command: string, runtime: string, folder: string): Promise<string> {
  return run(command, ["connect", runtime, "--vault", folder]);
}

/**
 * Opens the inspector in the browser, over the log of the daemon at a socket, at the moment after an event. Its process
 * ends by itself some minutes after its page was closed; then this settles.
 *
 * @throws Error: as `run`.
 */
export function inspect(command: string, socket: string, seq: number): Promise<void> {
  const child = spawn(command, ["inspect", "--socket", socket, "--at", String(seq)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let problem = "";
  child.stderr.on("data", (text) => (problem += text));
  return new Promise((resolve, reject) => {
    child.on("error", () => reject(new Error(notThere(command))));
    child.on("exit", (code) => (code ? reject(new Error(problem.trim())) : resolve()));
  });
}

/**
 * What the program prints.
 *
 * @throws Error: it is not there, or failed; its message says why, and what to do.
 */
function run(command: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX };
    const child = execFile(command, words, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else if ((error as NodeJS.ErrnoException).code === "ENOENT") reject(new Error(notThere(command)));
      else reject(new Error(stderr.trim() || error.message));
    });
    child.stdin?.on("error", () => {}); // it may have ended before it read anything
    child.stdin?.end();
  });
}

function notThere(command: string): string {
  return `There is no program ${command}. Install workspaced, or put its path into the settings of this plugin.`;
}
