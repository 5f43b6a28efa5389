/** The client's side of the protocol: requests to lines, bytes to lines to messages. No sockets here. */

import { NoDaemon, RequestTooLarge } from "./errors.js";
import { ANSWER_BYTES_MAX, REQUEST_BYTES_MAX } from "./limits.js";
import type { WireError } from "./types.generated.js";

const LINE_FEED = 0x0a;
/** A lone surrogate, or text that looks like the escape of one. */
const MAYBE_LONE = /\\ud[89a-f]/i;

/** The end of a request. */
export interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: Partial<WireError>;
}

/** What the daemon says unasked. */
export interface RawNotice {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * The line of one request.
 *
 * Half a character, as it comes out of a selection that ends within an emoji, becomes U+FFFD: the daemon takes
 * UTF-8.
 *
 * @throws RequestTooLarge; the daemon would close the connection over it.
 */
export function requestLine(id: number, method: string, params: unknown): Buffer {
  let text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  if (MAYBE_LONE.test(text)) {
    text = JSON.stringify({ jsonrpc: "2.0", id, method, params }, (_key, value: unknown) =>
      typeof value === "string" ? value.toWellFormed() : value,
    );
  }
  const line = Buffer.from(`${text}\n`);
  if (line.length - 1 > REQUEST_BYTES_MAX) {
    throw new RequestTooLarge(
      `The request is ${line.length - 1} bytes long; the daemon takes ${REQUEST_BYTES_MAX}.`,
    );
  }
  return line;
}

/**
 * What one line from the daemon is.
 *
 * @throws NoDaemon: the other end does not speak the protocol.
 */
export function parseLine(line: Buffer): Answer | RawNotice {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch {
    value = undefined;
  }
  if (typeof value === "object" && value !== null) {
    if ("method" in value && typeof value.method === "string") {
      const params = "params" in value && typeof value.params === "object" ? value.params : null;
      return { method: value.method, params: (params ?? {}) as Record<string, unknown> };
    }
    if ("id" in value && ("result" in value || "error" in value)) {
      return value as Answer;
    }
  }
  throw new NoDaemon("The other end of the socket does not speak workspaced's protocol.", {
    hint: "Is it a workspaced daemon?",
  });
}

/** Cuts what arrives into lines; holds at most one incomplete line of ANSWER_BYTES_MAX. */
export class LineSplitter {
  #partial: Buffer[] = [];
  #partialBytes = 0;

  /**
   * The lines that `data` completes, without their LF.
   *
   * @throws NoDaemon: a line beyond the bound; the stream cannot be taken up again.
   */
  *feed(data: Buffer): Generator<Buffer> {
    let begin = 0;
    for (let end = data.indexOf(LINE_FEED); end >= 0; end = data.indexOf(LINE_FEED, begin)) {
      this.#hold(data.subarray(begin, end));
      const line = this.#partial.length === 1 ? this.#partial[0] : Buffer.concat(this.#partial);
      [this.#partial, this.#partialBytes, begin] = [[], 0, end + 1];
      yield line as Buffer;
    }
    if (begin < data.length) {
      this.#hold(data.subarray(begin));
    }
  }

  #hold(part: Buffer): void {
    this.#partial.push(part);
    this.#partialBytes += part.length;
    if (this.#partialBytes > ANSWER_BYTES_MAX) {
      throw new NoDaemon(`The other end of the socket sent a line longer than ${ANSWER_BYTES_MAX} bytes.`, {
        hint: "Is it a workspaced daemon?",
      });
    }
  }
}
