/** Asks the daemon for a prompt with context in place; whatever goes wrong, the prompt goes on as it was. */

import type { Transformed } from "../api.js";
import type { Client } from "../client.js";
import { NoDaemon, TimedOut, WorkspacedError } from "../errors.js";
import { CONTEXT_PAUSE_MS, CONTEXT_TIMEOUT_MS, TRANSFORM_BYTES_MAX } from "../limits.js";
import type { ContextTransformParams } from "../types.generated.js";
import type { Made } from "./pairing.js";
import { place } from "./place.js";
import { type CallParams, type Message, type Model, partsOf, type ProviderOptions } from "./prompt.js";
import { tell } from "./tell.js";

export interface ContextOptions {
  /** The model's, in tokens: what decides when the oldest turns are folded. Default: the daemon's. */
  readonly contextWindow?: number | undefined;
  /** For all that one prompt asks of the daemon. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** How long the daemon is not asked after it did not answer in time. Default: 60,000. */
  readonly pauseMs?: number | undefined;
  /** Told why prompts go on without context: once, until one succeeds or the reason changes. Default: a warning. */
  readonly onError?: ((error: WorkspacedError) => void) | undefined;
}

export class Placing {
  readonly #client: Client;
  readonly #options: ContextOptions;
  #pausedUntil = 0;
  /** The reason that was told last. */
  #told: string | undefined;

  constructor(client: Client, options: ContextOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** The params with context in place; the same object where that fails, or where no answer to anyone is asked for. */
  async place<Params extends CallParams>(params: Params, model: Model): Promise<Params> {
    const last = params.prompt.at(-1)?.role;
    if ((last !== "user" && last !== "tool") || performance.now() < this.#pausedUntil) return params;
    try {
      const prompt = await this.#inTime(this.#placed(params, model), params.abortSignal);
      this.#told = undefined;
      return { ...params, prompt };
    } catch (error) {
      if (!params.abortSignal?.aborted) this.#failed(error);
      return params;
    }
  }

  async #placed(params: CallParams, model: Model): Promise<readonly Message[]> {
    const told = tell(params.prompt);
    if (told.messages.length === 0) return params.prompt;
    const made = await this.#transformed({
      form: "anthropic",
      messages: told.messages as unknown as NonNullable<ContextTransformParams["messages"]>,
      ...(told.system ? { system: told.system } : {}),
      provider: model.provider || null,
      model: model.modelId || null,
      tools: toolsOf(params),
      deadline: Date.now() + (this.#options.timeoutMs ?? CONTEXT_TIMEOUT_MS),
      ...attachmentsOf(params.providerOptions),
      ...(this.#options.contextWindow === undefined ? {} : { contextWindow: this.#options.contextWindow }),
      ...(params.maxOutputTokens === undefined ? {} : { outputReserve: params.maxOutputTokens }),
    });
    return place(params.prompt, told, made as unknown as Made, takesMarks(params, model));
  }

  /** Messages that are too long for a line go first. */
  async #transformed(request: ContextTransformParams): Promise<Transformed> {
    const { context, isConnected } = this.#client;
    if (!isConnected) {
      throw new NoDaemon("The client is not connected.", { hint: "Start the daemon: `workspaced serve`." });
    }
    const { messages, ...rest } = request;
    const text = JSON.stringify(messages);
    if (Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(rest)) <= TRANSFORM_BYTES_MAX) {
      return context.transform(request);
    }
    return context.transform({ ...rest, messagesSha256: await context.upload(text) });
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

  #failed(error: unknown): void {
    const known = error instanceof WorkspacedError ? error : new WorkspacedError("INTERNAL", String(error));
    if (known instanceof TimedOut) {
      this.#pausedUntil = performance.now() + (this.#options.pauseMs ?? CONTEXT_PAUSE_MS);
    }
    const reason = `${known.code}: ${known.message}`;
    if (reason === this.#told) return;
    this.#told = reason;
    try {
      (this.#options.onError ?? warn)(known);
    } catch (error) {
      warn(new WorkspacedError("INTERNAL", `\`onError\` failed: ${error}`));
    }
  }
}

function warn({ code, message, hint }: WorkspacedError): void {
  const warning = `A prompt goes on without context: ${code}: ${message}`;
  process.emitWarning(warning, { type: "WorkspacedWarning", code, detail: hint });
}

function toolsOf({ tools = [] }: CallParams): Readonly<Record<string, unknown>>[] {
  const functions = tools.filter(({ type }) => type === "function");
  return functions.map(({ name, description = "", inputSchema }) => ({ name, description, input_schema: inputSchema }));
}

/** What the app attaches to this call's newest message, in place of the note that the user looks at. */
function attachmentsOf(options: ProviderOptions | undefined): Pick<ContextTransformParams, "attachments"> {
  const { attachments } = (options?.["workspaced"] ?? {}) as Pick<ContextTransformParams, "attachments">;
  return attachments === undefined ? {} : { attachments };
}

/** Whether the daemon's marks for Anthropic's cache are set: not beside the app's own, since four are taken at most. */
function takesMarks({ prompt, tools = [] }: CallParams, { provider }: Model): boolean {
  if (!/\banthropic\b/.test(provider)) return false;
  const holders: readonly { providerOptions?: ProviderOptions | undefined }[] = [
    ...prompt,
    ...prompt.flatMap(partsOf),
    ...tools,
  ];
  return !holders.some(({ providerOptions }) => {
    const { cacheControl, cache_control } = (providerOptions?.["anthropic"] ?? {}) as Record<string, unknown>;
    return cacheControl !== undefined || cache_control !== undefined;
  });
}
