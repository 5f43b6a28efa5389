/** A real daemon in a process of its own, and one that only plays a part. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { type Client, connect, type ConnectOptions, type WorkspacedError } from "workspaced-client";

/** How the daemon is started; its tests' runner names the interpreter. */
const COMMAND: string[] = JSON.parse(process.env["DAEMON_COMMAND"] ?? '["workspaced"]');
const STOP_MS = 5_000;

const cleanups: (() => void | Promise<void>)[] = [];

/** Ends what the file's tests have started; for `after`. */
export async function cleanUp(): Promise<void> {
  for (const clean of cleanups.splice(0).reverse()) await clean();
}

/** A fresh directory with a short path, as sockets need it. */
export function directory(): string {
  const made = mkdtempSync("/tmp/wsd-ts-");
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export interface DaemonOptions {
  readonly home?: string;
  readonly workspace?: string;
  /** Further flags of `workspaced serve`. */
  readonly flags?: readonly string[];
  /** Settings of the daemon. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A daemon and where it lives. */
export class Daemon {
  readonly root = directory();
  readonly vault = join(this.root, "vault");
  readonly socket = join(this.root, "s");
  readonly #options: DaemonOptions;
  #process: ChildProcess | undefined;

  private constructor(options: DaemonOptions) {
    this.#options = options;
    for (const [name, text] of Object.entries({
      "a.md": "# Alpha\n\nSee [[b]].\n",
      "b.md": "# Beta\n",
      "c.md": "# C\n",
    })) {
      mkdirSync(this.vault, { recursive: true });
      writeFileSync(join(this.vault, name), text);
    }
  }

  static async start(options: DaemonOptions = {}): Promise<Daemon> {
    const made = new Daemon(options);
    cleanups.push(() => made.kill());
    await made.start();
    return made;
  }

  /** Starts the process and waits until it listens. */
  async start(): Promise<void> {
    const [program, ...rest] = COMMAND as [string, ...string[]];
    const data = join(this.root, "data");
    const { home = join(this.root, "home"), workspace = "default", flags = [], env = {} } = this.#options;
    const started = spawn(
      program,
      [
        ...rest,
        "serve",
        "--vault",
        this.vault,
        "--data-dir",
        data,
        "--socket",
        this.socket,
        "--workspace",
        workspace,
        ...flags,
      ],
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env, HOME: home, TMPDIR: this.root } },
    );
    this.#process = started;
    const said: string[] = [];
    const lines = createInterface({ input: started.stderr as NonNullable<typeof started.stderr> });
    await new Promise<void>((resolve, reject) => {
      lines.on("line", (line) => {
        said.push(line);
        if (line.includes("listening on")) resolve();
      });
      started.once("error", reject);
      started.once("close", () => reject(new Error(`the daemon ended: ${said.join("\n")}`)));
    });
  }

  /** Ends it at once, whatever it does. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it in good order. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    running.kill(signal);
    await once(running, "exit", { signal: AbortSignal.timeout(STOP_MS) });
  }

  client(options: ConnectOptions = {}): Promise<Client> {
    return client({ socket: this.socket, ...options });
  }
}

/** A client that is closed when the file's tests are done. */
export async function client(options: ConnectOptions): Promise<Client> {
  const made = await connect(options);
  cleanups.push(() => made.close());
  return made;
}

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
  /** Which connection asks, counted from 1. */
  readonly connection: number;
  readonly socket: Socket;
}

type Part = (asked: Asked) => unknown;

/** An answer that is none: nothing is sent. */
export const SILENCE = Symbol("silence");

/** What plays the daemon: answers as its parts say; a part that throws answers with the error it throws. */
export class Fake {
  readonly socket = join(directory(), "s");
  readonly asked: Asked[] = [];
  readonly #parts: Record<string, Part>;
  readonly #open = new Set<Socket>();
  /** So many connections were taken. */
  connections = 0;
  #server: Server | undefined;

  private constructor(parts: Record<string, Part>) {
    this.#parts = {
      "workspaced/hello": () => ({ clock: "log:0", instance: "fake", paused: null }),
      "workspaced/subscribe": () => ({ clock: "log:0", subscription: "pauses" }),
      ...parts,
    };
  }

  static async start(parts: Record<string, Part> = {}): Promise<Fake> {
    const made = new Fake(parts);
    cleanups.push(() => made.stop());
    made.#server = createServer((socket) => made.#serve(socket)).listen(made.socket);
    await once(made.#server, "listening");
    return made;
  }

  /** Breaks every connection; new ones are taken. */
  drop(): void {
    for (const socket of this.#open) socket.destroy();
  }

  stop(): void {
    this.#server?.close();
    this.drop();
  }

  /** What was asked with this method. */
  params(method: string): Record<string, unknown>[] {
    return this.asked.filter((each) => each.method === method).map((each) => each.params);
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    const connection = this.connections;
    this.#open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#open.delete(socket));
    const lines = createInterface({ input: socket });
    lines.on("error", () => {});
    lines.on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const asked = { id, method, params, connection, socket };
      this.asked.push(asked);
      let answer: unknown;
      try {
        const result = this.#parts[method]?.(asked) ?? {};
        if (result === SILENCE) return;
        answer = { result };
      } catch (error) {
        answer = { error };
      }
      socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...(answer as object) })}\n`);
    });
  }
}

/** An error as the daemon sends it. */
export function wireError(code: string, more: Record<string, unknown> = {}): unknown {
  return { code: 4002, message: `It is ${code}.`, data: { code, hint: "", ...more } };
}

/** The error a promise fails with. */
export async function failure(promise: Promise<unknown>): Promise<WorkspacedError> {
  return promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: WorkspacedError) => error,
  );
}

/** A promise and what settles it. */
export function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}
