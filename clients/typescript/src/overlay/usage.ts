/**
 * Reads the provider's usage out of an answer while it passes.
 *
 * One reader serves all providers: chat completions have `usage` in an answer and in the last event, responses in the
 * event that ends them; Anthropic begins it in the first event and completes it in the last but one; Gemini has
 * `usageMetadata` in each. What comes later wins, field by field.
 */

import { USAGE_CHARS_MAX } from "../limits.js";

export type Usage = Readonly<Record<string, unknown>>;

interface Outer {
  readonly usage?: unknown;
  readonly usageMetadata?: unknown;
  /** Of the event that begins Anthropic's answers. */
  readonly message?: { readonly usage?: unknown } | null;
  /** Of the event that ends OpenAI's responses. */
  readonly response?: { readonly usage?: unknown } | null;
}

/** Takes the bytes of an answer; holds USAGE_CHARS_MAX of them at most. */
export class UsageReader {
  readonly #isStream: boolean;
  readonly #decoder = new TextDecoder();
  #held = "";
  /** The rest of this line, or of the answer if it is no stream, is not looked into. */
  #isTooLong = false;
  #usage: Record<string, unknown> = {};

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

  /** What has passed; undefined: there was none so far. */
  usage(): Usage | undefined {
    if (!this.#isStream) this.#take(this.#held);
    return Object.keys(this.#usage).length > 0 ? this.#usage : undefined;
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
      for (const usage of [outer?.message?.usage, outer?.response?.usage, outer?.usage, outer?.usageMetadata]) {
        if (typeof usage !== "object" || usage === null) continue;
        for (const [name, count] of Object.entries(usage)) if (count !== null) this.#usage[name] = count;
      }
    }
  }
}
