/**
 * Which daemon is meant when no socket is given: the rules are in docs/reference/discovery.md.
 *
 * A record is a hint: whether a daemon runs is seen by connecting to its socket. One whose socket is dead is
 * removed by the program that notices. A file that is not plainly ours (a symlink, another owner, open to others, garbage)
 * is left alone and not believed.
 */

import { constants, type BigIntStats } from "node:fs";
import { lstat, open, readdir, realpath, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { homedir, hostname } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

import type { Target } from "./api.js";
import { InvalidArgument, NoDaemon } from "./errors.js";
import { PROBE_MS, RECORD_BYTES_MAX } from "./limits.js";
import { userId } from "./link.js";

const RECORD_VERSION = 1;
const WORKSPACE_NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/;
const OTHERS = 0o077n;

/** What is known of a running daemon. All paths are absolute. */
export interface DaemonRecord {
  readonly pid: number;
  readonly socket: string;
  readonly workspace: string;
  readonly version: string;
  readonly dataDir: string;
  /** Real paths of the folders it serves. */
  readonly vaults: readonly string[];
}

/** The running daemon that serves this folder, or else the nearest one above it. */
export async function findDaemon(folder: string): Promise<DaemonRecord | undefined> {
  return serving(await runningDaemons(), await realFolder(folder));
}

/** Every daemon of this user on this machine that can be reached now, by workspace and socket. */
export async function runningDaemons(): Promise<DaemonRecord[]> {
  const found = await Promise.all((await readRecords()).map(ifListening));
  return found
    .filter((each) => each !== undefined)
    .sort((a, b) => order(a.workspace, b.workspace) || order(a.socket, b.socket));
}

/** Every daemon that has a record, also one that has ended without removing it; none of them is connected to. */
export async function recordedDaemons(): Promise<DaemonRecord[]> {
  return (await readRecords()).map(({ record }) => record);
}

/**
 * The socket of the daemon that is meant.
 *
 * @throws NoDaemon: none runs, or several and it is not clear which. InvalidArgument: no name of a workspace.
 */
export async function locate(target: Target): Promise<string> {
  if (target.socket !== undefined) return target.socket;
  const given = target.workspace === undefined ? process.env["WORKSPACED_SOCKET"] : undefined;
  if (given) return given;
  const found = await runningDaemons();
  const folder = target.folder === undefined ? undefined : await realFolder(target.folder);
  const workspace = target.workspace ?? (process.env["WORKSPACED_WORKSPACE"] || undefined);
  if (workspace !== undefined) return ofWorkspace(found, workspace, folder);
  if (folder !== undefined) {
    const record = serving(found, folder);
    if (record !== undefined) return record.socket;
    throw new NoDaemon(`No daemon serves ${folder}.`, {
      hint: `Start one with \`workspaced start ${folder}\`.`,
    });
  }
  return anyOf(found);
}

/** The socket of a workspace, where nothing else says otherwise. */
function defaultSocket(workspace: string): string {
  if (!WORKSPACE_NAME.test(workspace)) {
    throw new InvalidArgument(`${JSON.stringify(workspace.slice(0, 100))} is no name of a workspace.`, {
      hint: "Lower-case letters, digits, '.', '_' and '-', at most 32, beginning with a letter or digit.",
    });
  }
  const { XDG_RUNTIME_DIR: runtime, TMPDIR, TEMP, TMP } = process.env;
  const directory = runtime
    ? join(runtime, "workspaced")
    : join(resolve(TMPDIR || TEMP || TMP || "/tmp"), `workspaced-${userId()}`);
  return join(directory, `${workspace}.sock`);
}

/** A UI never tells its view to a daemon that serves another folder than the one it named. */
function ofWorkspace(found: readonly DaemonRecord[], workspace: string, folder: string | undefined): string {
  const named = found.filter((each) => each.workspace === workspace);
  const first = named[0];
  if (first === undefined) return defaultSocket(workspace);
  const record = folder === undefined ? first : serving(named, folder);
  if (record !== undefined) return record.socket;
  throw new NoDaemon(
    `The daemon of the workspace ${workspace} serves ${first.vaults.join(", ") || "nothing"}, not ${folder}.`,
    { hint: "Start it with that folder too, or give another workspace." },
  );
}

function anyOf(found: readonly DaemonRecord[]): string {
  const [only, ...others] = found;
  if (only === undefined) return defaultSocket("default");
  if (others.length === 0) return only.socket;
  const record = serving(found, process.cwd());
  if (record !== undefined) return record.socket;
  const listed = found.map((each) => `${each.workspace} (serves ${each.vaults.join(", ")})`).join("; ");
  throw new NoDaemon("Several daemons run, and none serves the current directory.", {
    hint: `Give a folder, or one of the workspaces ${listed}.`,
  });
}

/** The daemon that serves this folder, given by its real path, or a folder above it; of several the nearest. */
function serving(found: readonly DaemonRecord[], folder: string): DaemonRecord | undefined {
  let best: { record: DaemonRecord; length: number } | undefined;
  for (const record of found) {
    for (const vault of record.vaults) {
      const isWithin = folder === vault || folder.startsWith(`${vault.replace(/\/+$/, "")}/`);
      if (isWithin && vault.length > (best?.length ?? 0)) best = { record, length: vault.length };
    }
  }
  return best?.record;
}

async function realFolder(folder: string): Promise<string> {
  const expanded = folder === "~" || folder.startsWith("~/") ? join(homedir(), folder.slice(1)) : folder;
  return realpath(expanded).catch(() => resolve(expanded));
}

// -- reading what may be anything --

interface Found {
  readonly path: string;
  readonly seen: BigIntStats;
  readonly record: DaemonRecord;
}

/** Where records lie. */
function stateDirectory(): string {
  const below = process.platform === "darwin" ? "Library/Application Support" : ".local/state";
  return join(homedir(), below, "workspaced", "daemons");
}

async function readRecords(): Promise<Found[]> {
  const directory = stateDirectory();
  const made = await lstat(directory, { bigint: true }).catch(() => undefined);
  if (made === undefined || !made.isDirectory() || !isPrivate(made)) return [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(".json"));
  const found = await Promise.all(names.map((name) => readRecord(join(directory, name))));
  return found.filter((each) => each !== undefined);
}

async function readRecord(path: string): Promise<Found | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const seen = await file.stat({ bigint: true });
      if (!seen.isFile() || !isPrivate(seen) || seen.size > RECORD_BYTES_MAX) return undefined;
      const record = asRecord(JSON.parse(await file.readFile("utf8")));
      return record === undefined ? undefined : { path, seen, record };
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): DaemonRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { workspaced, host, pid, socket, workspace, version, dataDir, vaults } = value as Record<string, unknown>;
  const isOurs = workspaced === RECORD_VERSION && host === hostname() && Number.isInteger(pid);
  const hasTexts = [socket, workspace, version, dataDir].every((text) => typeof text === "string");
  if (!isOurs || !hasTexts || !Array.isArray(vaults) || ![socket, ...vaults].every(isPath)) return undefined;
  return { pid, socket, workspace, version, dataDir, vaults } as DaemonRecord;
}

function isPath(value: unknown): boolean {
  return typeof value === "string" && isAbsolute(value) && !value.includes("\0");
}

function isPrivate(seen: BigIntStats): boolean {
  return seen.uid === BigInt(userId()) && (seen.mode & OTHERS) === 0n;
}

async function ifListening({ path, seen, record }: Found): Promise<DaemonRecord | undefined> {
  const listening = await isListening(record.socket);
  if (listening === false) await sweep(path, seen);
  return listening ? record : undefined;
}

/** Whether somebody takes connections there, however slowly; undefined if that cannot be found out. */
function isListening(path: string): Promise<boolean | undefined> {
  return new Promise((settle) => {
    const probe = connect(path);
    probe.setTimeout(PROBE_MS);
    const finish = (listening: boolean | undefined): void => {
      probe.destroy();
      settle(listening);
    };
    probe.once("connect", () => finish(true));
    probe.once("timeout", () => finish(true));
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EAGAIN")
        finish(true); // its queue is full
      else finish(error.code === "ECONNREFUSED" || error.code === "ENOENT" ? false : undefined);
    });
  });
}

/** Removes the record that was read, and not one that took its place since. */
async function sweep(path: string, seen: BigIntStats): Promise<void> {
  const now = await lstat(path, { bigint: true }).catch(() => undefined);
  if (now !== undefined && now.ino === seen.ino && now.dev === seen.dev) {
    await unlink(path).catch(() => {});
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
