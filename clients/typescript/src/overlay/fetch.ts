/**
 * A `fetch` that puts what the user looks at into requests to a model's provider.
 *
 * The client's text goes on as it is, and what was inserted is inserted again at the same place in each later request
 * of the chat. Whatever goes wrong, the request goes on as it came, and a warning says once why.
 */

import type { Client } from "../client.js";
import { ClientClosed, NoDaemon, TimedOut, WorkspacedError } from "../errors.js";
import { CONTEXT_PAUSE_MS, CONTEXT_TIMEOUT_MS } from "../limits.js";
import { Unreadable } from "./places.js";
import { type Form, inserted, readRequest, sha256 } from "./request.js";
import { type Answered, UsageReader } from "./usage.js";

export interface OverlayOptions {
  /** Stays the caller's, who closes it. With `waitForDaemon` it may be made before the daemon runs. */
  readonly client: Client;
  /** Sends the requests. Default: the global one, as it is then. */
  readonly fetch?: typeof fetch | undefined;
  /** How long a request waits for the daemon. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** How long the daemon is not asked after it did not answer in time. Default: 60,000. */
  readonly pauseMs?: number | undefined;
  /** Told why requests go on without context: once, until one succeeds or the reason changes. Default: a warning. */
  readonly onError?: ((error: WorkspacedError) => void) | undefined;
}

type Body = string | Uint8Array<ArrayBuffer>;

interface Overlaid {
  readonly form: Form;
  readonly body: Body;
  readonly token: string;
}

/** Where providers count what a request holds. */
const COUNTING = ["/messages/count_tokens", "/responses/input_tokens", ":countTokens"];
const ENDS: Readonly<Record<Form, readonly string[]>> = {
  openai: ["/chat/completions"],
  responses: ["/responses", ...COUNTING.slice(1, 2)],
  anthropic: ["/messages", ...COUNTING.slice(0, 1)],
  gemini: [":generateContent", ":streamGenerateContent", ...COUNTING.slice(2)],
};

const UNCHANGED = "A prompt goes on without context";
const UNTOLD = "What became of a prompt is not recorded";

/**
 * The `fetch`, for any SDK that takes one. A request gets context if it is a POST to where one of the four forms is
 * sent, and its body is given as a string or as bytes; any other is passed as it is.
 */
export function overlayFetch(options: OverlayOptions): typeof fetch {
  const overlays = new Overlays(options);
  return async (input, init) => {
    const send = options.fetch ?? fetch;
    const made = await overlays.overlaid(input, init);
    if (made === undefined) return send(input, init);
    const headers = new Headers(init?.headers);
    headers.delete("content-length"); // it is another one now
    return overlays.passed(await send(input, { ...init, headers, body: made.body }), made);
  };
}

class Overlays {
  readonly #options: OverlayOptions;
  #pausedUntil = 0;
  /** The reason that was told last. */
  #told: string | undefined;
  /** What left and was answered so far: the next request of a chat builds on it. */
  #confirmed: Promise<unknown> = Promise.resolve();

  constructor(options: OverlayOptions) {
    this.#options = options;
  }

  /** Undefined: the request goes on as it came. */
  async overlaid(input: string | URL | Request, init: RequestInit | undefined): Promise<Overlaid | undefined> {
    const { method, body } = init ?? {};
    if (method?.toUpperCase() !== "POST" || !(typeof body === "string" || body instanceof Uint8Array)) return undefined;
    const path = pathOf(input);
    const form = (Object.keys(ENDS) as Form[]).find((each) => ENDS[each].some((end) => path.endsWith(end)));
    if (form === undefined || performance.now() < this.#pausedUntil) return undefined;
    const signal = init?.signal ?? undefined;
    try {
      const made = await this.#asked(form, body as Body, COUNTING.some((end) => path.endsWith(end)), signal);
      this.#told = undefined;
      return made;
    } catch (error) {
      if (!signal?.aborted) this.#failed(UNCHANGED, error);
      return undefined;
    }
  }

  async #asked(form: Form, body: Body, isCounting: boolean, signal?: AbortSignal): Promise<Overlaid | undefined> {
    const { client } = this.#options;
    if (!client.isConnected) {
      throw new NoDaemon("The client is not connected.", { hint: "Start the daemon: `workspaced serve`." });
    }
    const text = typeof body === "string" ? body : decoded(body);
    const request = readRequest(form, text);
    const asking = this.#confirmed.then(() =>
      client.request("workspaced/context/overlay", {
        form,
        turns: request.turns.map(({ key, near }) => ({ key, near })),
        open: request.isOpen && !request.isTold && !isCounting,
        chat: request.chat || request.firstWords || request.held,
        activeText: !request.hasTools, // such a model cannot ask for it
        ...(request.held && { previousResponseId: request.held }),
      }),
    );
    const { insertions, token } = await this.#inTime(asking, signal);
    if (token === null) return undefined;
    const made = inserted(request, text, new Map(insertions.map((each) => [each.turn, each.text])));
    return { form, token, body: typeof body === "string" ? made : new TextEncoder().encode(made) };
  }

  /** The answer as it came, which is read while it passes. */
  passed(response: Response, { form, token, body }: Overlaid): Response {
    if (response.status >= 400) return response;
    const confirmed = this.#tell("workspaced/context/overlay/confirm", { token, bodySha256: sha256(body) });
    this.#confirmed = Promise.all([this.#confirmed, confirmed]);
    if (response.status !== 200 || response.body === null) return response;
    const ended = (answered: Answered | undefined): void => {
      if (answered === undefined) return;
      const params = { token, form, ...answered };
      const finished = confirmed.then(() => this.#tell("workspaced/context/overlay/finished", params));
      this.#confirmed = Promise.all([this.#confirmed, finished]);
    };
    const passing = watched(response.body, new UsageReader(response.headers.get("content-type") ?? ""), ended);
    const made = new Response(passing, response);
    return Object.defineProperty(made, "url", { value: response.url });
  }

  /** Nobody waits for it, nor suffers from it. */
  async #tell(
    ...[method, params]:
      | ["workspaced/context/overlay/confirm", { token: string; bodySha256: string }]
      | ["workspaced/context/overlay/finished", { token: string; form: Form } & Answered]
  ): Promise<void> {
    try {
      await this.#options.client.request(method, params);
    } catch (error) {
      if (!(error instanceof ClientClosed)) this.#failed(UNTOLD, error);
    }
  }

  /** @throws TimedOut: not in time. Anything, if the signal says that nobody waits any more. */
  async #inTime<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
    const timeoutMs = this.#options.timeoutMs ?? CONTEXT_TIMEOUT_MS;
    const over = new AbortController();
    const late = new Promise<never>((_, reject) => {
      const timedOut = (): void => reject(new TimedOut(`The daemon did not answer within ${timeoutMs} ms.`));
      const timer = setTimeout(timedOut, timeoutMs);
      over.signal.addEventListener("abort", () => clearTimeout(timer));
      signal?.addEventListener("abort", () => reject(signal.reason), { signal: over.signal });
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      over.abort();
    }
  }

  #failed(what: string, error: unknown): void {
    const known = knownOf(error);
    if (known instanceof TimedOut) {
      this.#pausedUntil = performance.now() + (this.#options.pauseMs ?? CONTEXT_PAUSE_MS);
    }
    const reason = `${known.code}: ${known.message}`;
    if (reason === this.#told) return;
    this.#told = reason;
    try {
      if (this.#options.onError === undefined) warn(what, known);
      else this.#options.onError(known);
    } catch (error) {
      warn(what, new WorkspacedError("INTERNAL", `\`onError\` failed: ${error}`));
    }
  }
}

function pathOf(input: string | URL | Request): string {
  const url = input instanceof Request ? input.url : String(input);
  return URL.canParse(url) ? new URL(url).pathname : "";
}

/** @throws Unreadable: it is no text, such as a compressed body. */
function decoded(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new Unreadable("the body is no text");
  }
}

/** The stream, read no earlier than it is asked for; `ended` is told once the app has it, or wants no more of it. */
function watched(
  stream: ReadableStream<Uint8Array>,
  reader: UsageReader,
  ended: (answered: Answered | undefined) => void,
): ReadableStream<Uint8Array> {
  const source = stream.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.read();
        if (done) {
          controller.close();
          return ended(reader.answered());
        }
        reader.feed(value);
        controller.enqueue(value);
      },
      async cancel(reason) {
        ended(reader.answered());
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function knownOf(error: unknown): WorkspacedError {
  if (error instanceof WorkspacedError) return error;
  if (error instanceof Unreadable) return new WorkspacedError("NOT_A_PROMPT", error.message);
  return new WorkspacedError("INTERNAL", String(error));
}

function warn(what: string, { code, message, hint }: WorkspacedError): void {
  process.emitWarning(`${what}: ${code}: ${message}`, { type: "WorkspacedWarning", code, detail: hint });
}
