/** Every bound of the client, in one place. Units are the last word of a name. */

export const REQUEST_BYTES_MAX = 1024 * 1024;
/** Of an upload in one request: JSON may need six bytes for each. */
export const UPLOAD_PART_CHARS = 128 * 1024;
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
export const CLIENT_NAME_CHARS_MAX = 64;

/** For connecting, and for each answer. */
export const TIMEOUT_MS = 10_000;
export const RETRY_FIRST_MS = 50;
export const RETRY_MAX_MS = 2_000;
/** Before a view goes out again that met a busy daemon which did not say when. */
export const BUSY_RETRY_MS = 100;
/** How long `close` waits for what is under way. */
export const CLOSE_MS = 1_000;

/** How long a request to a model waits for its context, and how long requests then go on without asking. */
export const CONTEXT_TIMEOUT_MS = 5_000;
export const CONTEXT_PAUSE_MS = 60_000;
/** Of an answer, or of one line of a streamed one, in which the provider's usage is looked for. */
export const USAGE_CHARS_MAX = 4 * 1024 * 1024;

/** Requests sent and not answered: beyond this the daemon reads no further anyway. */
export const IN_FLIGHT_MAX = 32;
/** Requests that wait or are under way; one more is refused with QUEUE_FULL. */
export const QUEUED_REQUESTS_MAX = 1_000;
export const QUEUED_BYTES_MAX = 16 * 1024 * 1024;
/** Events a subscription holds for its reader; beyond this it lets the daemon hold them. */
export const QUEUED_EVENTS_MAX = 10_000;

/** Until a socket that a record names must take the connection. */
export const PROBE_MS = 1_000;
export const RECORD_BYTES_MAX = 64 * 1024;
/** Of a socket's path, as the system has it; a longer one may be cut without a word. */
export const SOCKET_BYTES_MAX = process.platform === "darwin" ? 103 : 107;
