/** One connection: requests out, answers and notices in. It ends once, and knows nothing of reconnecting. */

import type { BigIntStats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { connect, type Socket } from "node:net";

import { InvalidArgument, NoDaemon, remoteError, WorkspacedError } from "./errors.js";
import { SOCKET_BYTES_MAX } from "./limits.js";
import { LineSplitter, parseLine, requestLine, type RawNotice } from "./wire.js";

/** Called once, on the turn in which the answer came; with LinkLost where none can come any more. */
export type Done = (error: WorkspacedError | undefined, result: unknown) => void;

/** The connection went before the answer came: whether the daemon did it is not known. */
export class LinkLost extends NoDaemon {
  constructor(path: string, reason: string) {
    super(`The daemon on ${path} went away before it answered: ${reason}.`, {
      hint: "The client connects again by itself.",
    });
    this.name = "NoDaemon";
  }
}

const OTHERS_WRITE = 0o022n;
const STICKY = 0o1000n;

let lastId = 0;

/** An id no other request of this process has. */
export function nextRequestId(): number {
  lastId += 1;
  return lastId;
}

export class Link {
  readonly path: string;
  /** Settles when the connection is over, with the reason. */
  readonly ended: Promise<string>;
  onNotice: (notice: RawNotice) => void = () => {};

  readonly #socket: Socket;
  readonly #splitter = new LineSplitter();
  readonly #pending = new Map<number, Done>();
  #reason = "it closed the connection";
  #isOpen = true;

  private constructor(path: string, socket: Socket) {
    this.path = path;
    this.#socket = socket;
    this.ended = new Promise((resolve) => {
      socket.once("close", () => {
        this.#isOpen = false;
        for (const done of this.#takePending()) {
          done(this.#lost(), undefined);
        }
        resolve(this.#reason);
      });
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#reason = error.code ?? error.message;
    });
    socket.on("data", (data: Buffer) => this.#take(data));
  }

  /**
   * A connection to what listens at `path`: a socket of ours, where nobody but us can put one.
   *
   * @throws NoDaemon: nobody listens there, or somebody else may.
   */
  static async open(path: string): Promise<Link> {
    let socket: Socket | undefined;
    try {
      const real = await realpath(path); // this is looked at and connected to: a link may lead elsewhere by then
      const before = await ownSocket(real);
      socket = await dial(real);
      const now = await ownSocket(real); // nothing was sent yet: what we connected to must still be there
      if (now !== before) throw new NoDaemon(`The socket ${path} was replaced while it was connected to.`);
      return new Link(path, socket);
    } catch (error) {
      socket?.destroy();
      if (error instanceof NoDaemon) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new NoDaemon(`No daemon listens on ${path}: ${reason}.`, {
        hint: "Start one with `workspaced start DIR`, or name its socket.",
      });
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request; `done` is called once. */
  request(method: string, params: unknown, done: Done): void {
    const id = nextRequestId();
    this.send(id, requestLine(id, method, params), done);
  }

  /** Sends a line that was made before; `done` is called once. */
  send(id: number, line: Buffer, done: Done): void {
    if (!this.#isOpen) {
      queueMicrotask(() => done(this.#lost(), undefined));
      return;
    }
    this.#pending.set(id, done);
    this.#socket.write(line);
  }

  /** Nobody waits for this answer any more. */
  forget(id: number): void {
    this.#pending.delete(id);
  }

  /** Ends the connection. */
  close(reason = "the client closed it"): void {
    this.#reason = reason;
    this.#socket.destroy();
  }

  #lost(): LinkLost {
    return new LinkLost(this.path, this.#reason);
  }

  #takePending(): Done[] {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    return waiting;
  }

  #take(data: Buffer): void {
    try {
      for (const line of this.#splitter.feed(data)) {
        if (!this.#socket.destroyed) {
          this.#takeLine(line);
        }
      }
    } catch (error) {
      if (!(error instanceof WorkspacedError)) throw error;
      this.close(error.message);
    }
  }

  #takeLine(line: Buffer): void {
    const message = parseLine(line);
    if ("method" in message) {
      this.onNotice(message);
      return;
    }
    if (typeof message.id !== "number") {
      // An error that belongs to no request; the daemon closes the connection after most of them.
      this.#reason = message.error?.message ?? this.#reason;
      return;
    }
    const done = this.#pending.get(message.id);
    if (done !== undefined) {
      this.#pending.delete(message.id);
      done(message.error ? remoteError(message.error) : undefined, message.result);
    }
  }
}

/**
 * Which file a socket is, where nobody but us can have put it.
 *
 * Node does not give the credentials of a peer, so this asks the owners of the file and of every folder above it instead.
 * From the top down: where nobody else may change a folder, what was seen in it stays.
 *
 * @param real a path without symlinks.
 * @throws NoDaemon: it is no socket, is another user's, or lies where others can put one of theirs in its place.
 */
async function ownSocket(real: string): Promise<string> {
  if (Buffer.byteLength(real) > SOCKET_BYTES_MAX) {
    throw new NoDaemon(`The socket's path ${real} is longer than ${SOCKET_BYTES_MAX} bytes.`, {
      hint: "Let the daemon listen on a shorter path (workspaced serve --socket).",
    });
  }
  const us = BigInt(userId());
  for (let end = 0; end !== -1; end = real.indexOf("/", end + 1)) {
    const folder = real.slice(0, end) || "/";
    ownFolder(folder, await lstat(folder, { bigint: true }), us);
  }
  const file = await lstat(real, { bigint: true });
  if (!file.isSocket()) {
    throw new NoDaemon(`What lies at ${real} is no socket.`, { hint: "Name your daemon's socket." });
  }
  if (file.uid !== us) {
    throw new NoDaemon(`The socket ${real} belongs to another user.`, { hint: "Name your own daemon's socket." });
  }
  return `${file.dev}:${file.ino}`;
}

/** @throws NoDaemon: others can change what lies in the folder. */
function ownFolder(folder: string, found: BigIntStats, us: bigint): void {
  if (!found.isDirectory()) {
    throw new NoDaemon(`The folder ${folder} above the socket was replaced while it was looked at.`);
  }
  if (found.uid !== us && found.uid !== 0n) {
    throw new NoDaemon(`The folder ${folder} above the socket belongs to another user.`, {
      hint: "Let the daemon listen in a folder of your own (workspaced serve --socket).",
    });
  }
  // In a sticky folder, such as /tmp, nobody else can remove or rename what is ours.
  if ((found.mode & OTHERS_WRITE) !== 0n && (found.mode & STICKY) === 0n) {
    throw new NoDaemon(`Others can write to the folder ${folder} above the socket.`, { hint: `chmod 700 ${folder}` });
  }
}

/**
 * The user we are.
 *
 * @throws InvalidArgument: this system knows none; the daemon does not run on it either.
 */
export function userId(): number {
  const uid = process.getuid?.();
  if (uid === undefined) {
    throw new InvalidArgument(`Expected Linux or macOS, got ${process.platform}.`);
  }
  return uid;
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
