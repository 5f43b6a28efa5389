/**
 * Errors carry a stable `code`, what was expected and what came, and a `hint`: the step that repairs it.
 *
 *     WorkspacedError
 *       NoDaemon          NO_DAEMON: nobody listens, or the connection was refused or lost
 *       TimedOut          TIMEOUT: no answer in time
 *       RemoteError       what the daemon answered; `code` is the daemon's
 *       QueueFull         QUEUE_FULL: too much waits for the daemon
 *       RequestTooLarge   LINE_TOO_LARGE: more than the daemon takes in one request
 *       InvalidArgument   INVALID_ARGUMENT: of this library, before anything was sent
 *       ClientClosed      CLOSED: the client was closed by its owner
 */

import type { WireError } from "./types.generated.js";

/** The codes this client knows; a newer daemon may send others. */
export type ErrorCode = WireError["data"]["code"] | "QUEUE_FULL" | "CLOSED" | (string & {});

export interface ErrorParts {
  /** The step that repairs it; empty where there is none. */
  readonly hint?: string | undefined;
  /** With BUSY: when to publish again. */
  readonly retryAfterMs?: number | undefined;
  /** What else is known, such as the `index` of the action that was refused. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export class WorkspacedError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, parts: ErrorParts = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.hint = parts.hint ?? "";
    this.retryAfterMs = parts.retryAfterMs;
    this.details = parts.details ?? {};
  }
}

export class NoDaemon extends WorkspacedError {
  constructor(message: string, parts: ErrorParts = {}) {
    super("NO_DAEMON", message, parts);
  }
}

export class TimedOut extends WorkspacedError {
  constructor(message: string, parts: ErrorParts = {}) {
    super("TIMEOUT", message, parts);
  }
}

export class RemoteError extends WorkspacedError {}

export class QueueFull extends WorkspacedError {
  constructor(message: string) {
    super("QUEUE_FULL", message, {
      hint: "Wait for what was published before, or publish several actions at once.",
    });
  }
}

export class RequestTooLarge extends WorkspacedError {
  constructor(message: string) {
    super("LINE_TOO_LARGE", message, { hint: "Publish in smaller batches." });
  }
}

export class InvalidArgument extends WorkspacedError {
  constructor(message: string, parts: ErrorParts = {}) {
    super("INVALID_ARGUMENT", message, parts);
  }
}

export class ClientClosed extends WorkspacedError {
  constructor() {
    super("CLOSED", "The client was closed.");
  }
}

/** The daemon's error as one of ours, in any form. */
export function remoteError(wire: Partial<WireError>): RemoteError {
  const { code, hint, retryAfterMs, ...details } = (wire.data ?? {}) as Record<string, unknown>;
  return new RemoteError(typeof code === "string" ? code : "INTERNAL", String(wire.message ?? ""), {
    hint: typeof hint === "string" ? hint : "",
    retryAfterMs: typeof retryAfterMs === "number" ? retryAfterMs : undefined,
    details,
  });
}
