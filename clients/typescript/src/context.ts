/** Conversations of a runtime, and their prompts. */

import type { Exported, MethodName, MethodResults, Recorded } from "./api.js";
import type {
  ContextAssembleParams,
  ContextMessageParams,
  ContextPinParams,
  ContextStartParams,
  ContextSummaryParams,
  ContextUsageParams,
  MethodParams,
  Prompt,
} from "./types.generated.js";
import { newId } from "./ids.js";
import { UPLOAD_PART_CHARS } from "./limits.js";

/** A message of a conversation, as a runtime sends it. */
export type ContextMessage = NonNullable<ContextMessageParams["messages"]>[number];

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Asks one of our methods. */
type Ask = <Name extends MethodName>(method: Name, params: MethodParams[Name]) => Promise<MethodResults[Name]>;

/** What `client.context` offers. Every method fails as `client.request` does. */
export class Context {
  readonly #ask: Ask;

  /** @internal For `Client`. */
  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Begins a conversation and settles with its id; of one that was begun, the settings are these from now on. */
  async start(params: ContextStartParams): Promise<string> {
    return (await this.#ask("workspaced/context/start", params)).conversation;
  }

  /** Sends a text too long for one request; settles with the sha256 by which a message names it (`textSha256`). */
  async upload(text: string): Promise<string> {
    const upload = newId();
    for (let begin = 0; ; ) {
      let end = Math.min(begin + UPLOAD_PART_CHARS, text.length);
      if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
      const last = end === text.length;
      const { sha256 } = await this.#ask("workspaced/blob/put", { upload, text: text.slice(begin, end), last });
      if (last) return sha256 as string;
      begin = end;
    }
  }

  /** Adds a message, or replaces the one that it names; settles with its id. Again with the same id it is there once. */
  async message(conversation: string, message: ContextMessage): Promise<string> {
    const { messages } = await this.#ask("workspaced/context/message", { conversation, messages: [message] });
    return messages[0] as string;
  }

  /** Removes a message, by default it alone. */
  remove(conversation: string, message: string, options: { following?: boolean } = {}): Promise<Recorded> {
    const remove = { message, following: options.following ?? false };
    return this.#ask("workspaced/context/message", { conversation, remove });
  }

  /** Pins what every prompt gets anew; the same id replaces it in its place. */
  pin(params: ContextPinParams): Promise<Recorded> {
    return this.#ask("workspaced/context/pin", params);
  }

  /** Takes a pin away; one that is not there is no error. */
  unpin(conversation: string, id: string): Promise<Recorded> {
    return this.#ask("workspaced/context/unpin", { conversation, id });
  }

  /** The prompt up to a message, by default the last one; with `shape` as the `body` that a provider takes. */
  assemble(
    conversation: string,
    options: Omit<ContextAssembleParams, "conversation"> = {},
  ): Promise<Prompt> {
    return this.#ask("workspaced/context/assemble", { ...options, conversation });
  }

  /** Tells what the provider counted of a prompt, by its own report or in tokens: estimates get better by it. */
  usage(params: ContextUsageParams): Promise<Recorded> {
    return this.#ask("workspaced/context/usage", params);
  }

  /** Sets what stands for the messages up to one, that one included. */
  summary(params: ContextSummaryParams): Promise<Recorded> {
    return this.#ask("workspaced/context/summary", params);
  }

  /** Nothing more will be asked about it. */
  end(conversation: string): Promise<Recorded> {
    return this.#ask("workspaced/context/end", { conversation });
  }

  /** The conversation as Markdown. */
  export(conversation: string): Promise<Exported> {
    return this.#ask("workspaced/context/export", { conversation });
  }
}
