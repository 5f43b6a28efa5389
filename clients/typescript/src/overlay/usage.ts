/**
 * Reads out of an answer while it passes what the provider counted, and by which name it holds the chat.
 *
 * One reader serves all providers: chat completions have `usage` in an answer and in the last event, responses in the
 * event that ends them; Anthropic begins it in the first event and completes it in the last but one; Gemini has
 * `usageMetadata` in each. What comes later wins, field by field.
 */

import { USAGE_CHARS_MAX } from "../limits.js";
import { sha256 } from "./request.js";

/** What `finished` tells of an answer. */
export interface Answered {
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly responseId?: string;
}

interface Inner {
  readonly usage?: unknown;
  readonly id?: unknown;
  /** `response` says that a later request may continue the chat by `id`, or by its conversation's. */
  readonly object?: unknown;
  readonly conversation?: { readonly id?: unknown } | null;
}

interface Outer extends Inner {
  readonly usageMetadata?: unknown;
  /** Of the event that begins Anthropic's answers. */
  readonly message?: Inner | null;
  /** Of the event that ends OpenAI's responses. */
  readonly response?: Inner | null;
}

/** Takes the bytes of an answer; holds USAGE_CHARS_MAX of them at most. */
export class UsageReader {
  readonly #isStream: boolean;
  readonly #decoder = new TextDecoder();
  #held = "";
  /** The rest of this line, or of the answer if it is no stream, is not looked into. */
  #isTooLong = false;
  #usage: Record<string, unknown> = {};
  #heldAs = "";

  constructor(contentType: string) {
    this.#isStream = contentType.trim().toLowerCase().startsWith("text/event-stream");
  }

  feed(data: Uint8Array): void {
    const text = this.#decoder.decode(data, { stream: true });
    const lines = this.#isStream ? text.split(/[\r\n]/) : [text];
    for (const [number, line] of lines.entries()) {
      if (number > 0) this.#takeLine();
      this.#hold(line);
    }
  }

  /** What has passed; undefined: there was nothing so far. */
  answered(): Answered | undefined {
    if (!this.#isStream) this.#take(this.#held);
    const usage = Object.keys(this.#usage).length > 0 ? { usage: this.#usage } : undefined;
    const named = this.#heldAs ? { responseId: sha256(this.#heldAs) } : undefined;
    return usage || named ? { ...usage, ...named } : undefined;
  }

  #hold(text: string): void {
    this.#isTooLong ||= this.#held.length + text.length > USAGE_CHARS_MAX;
    this.#held = this.#isTooLong ? "" : this.#held + text;
  }

  #takeLine(): void {
    if (this.#held.startsWith("data:")) this.#take(this.#held.slice("data:".length));
    this.#held = "";
    this.#isTooLong = false;
  }

  #take(text: string): void {
    if (!text.includes('"usage')) return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return; // the answer goes to the app as it is; here it only has no usage
    }
    for (const outer of (Array.isArray(value) ? value : [value]) as (Outer | null)[]) {
      for (const inner of [outer?.message, outer?.response, outer]) {
        this.#count(inner?.usage);
        if (inner?.object !== "response") continue;
        const names = [inner.conversation?.id, inner.id];
        this.#heldAs = (names.find((name) => name && typeof name === "string") ?? "") as string;
      }
      this.#count(outer?.usageMetadata);
    }
  }

  #count(usage: unknown): void {
    if (typeof usage !== "object" || usage === null) return;
    for (const [name, count] of Object.entries(usage)) if (count !== null) this.#usage[name] = count;
  }
}
