/** One connection: requests out, answers and notices in. It ends once, and knows nothing of reconnecting. */

import { realpath, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";

import { InvalidArgument, NoDaemon, remoteError, WorkspacedError } from "./errors.js";
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
   * A connection to what listens at `path`, whose file must be ours and in a folder where only we can put one.
   *
   * @throws NoDaemon: nobody listens there, or somebody else may.
   */
  static async open(path: string): Promise<Link> {
    let socket: Socket | undefined;
    try {
      const before = await ownSocket(path);
      socket = await dial(path);
      const now = await ownSocket(path); // nothing was sent yet: what we connected to must still be there
      if (now !== before) throw new NoDaemon(`The socket ${path} was replaced while it was connected to.`);
      return new Link(path, socket);
    } catch (error) {
      socket?.destroy();
      if (error instanceof NoDaemon) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new NoDaemon(`No daemon listens on ${path}: ${reason}.`, {
        hint: "Start one with `workspaced serve --vault DIR`, or name its socket.",
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
 * Node does not give the credentials of a peer, so this asks the owner of the file and of its folder instead.
 *
 * @throws NoDaemon: it is another user's, or lies where others can put one of theirs in its place.
 */
async function ownSocket(path: string): Promise<string> {
  const real = await realpath(path);
  const folder = dirname(real);
  const [file, around] = await Promise.all([stat(real, { bigint: true }), stat(folder, { bigint: true })]);
  const us = BigInt(userId());
  if (file.uid !== us) {
    throw new NoDaemon(`The socket ${path} belongs to another user.`, { hint: "Name your own daemon's socket." });
  }
  if (around.uid !== us && around.uid !== 0n) {
    throw new NoDaemon(`The folder ${folder} of the socket belongs to another user.`, {
      hint: "Let the daemon listen in a folder of your own (workspaced serve --socket).",
    });
  }
  // In a sticky folder, such as /tmp, nobody else can remove our file.
  if ((around.mode & OTHERS_WRITE) !== 0n && (around.mode & STICKY) === 0n) {
    throw new NoDaemon(`Others can write to the folder ${folder} of the socket.`, { hint: `chmod 700 ${folder}` });
  }
  return `${file.dev}:${file.ino}`;
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
