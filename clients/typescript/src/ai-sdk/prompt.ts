/** The AI SDK's prompts by their structure, as far as they are read here: of its specifications v3 and v4. */

export type ProviderOptions = Readonly<Record<string, unknown>>;

export interface Part {
  readonly type: string;
  readonly providerOptions?: ProviderOptions | undefined;
}

export interface Message {
  readonly role: string;
  /** A text with `system`, else parts. */
  readonly content: string | readonly Part[];
  readonly providerOptions?: ProviderOptions | undefined;
}

export interface Tool {
  readonly type: string;
  readonly name: string;
  /** These two of a function; a provider's own tool has neither. */
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly providerOptions?: ProviderOptions | undefined;
}

/** What a model is called with. */
export interface CallParams {
  readonly prompt: readonly Message[];
  readonly tools?: readonly Tool[] | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly providerOptions?: ProviderOptions | undefined;
}

export interface Model {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

export interface TextPart extends Part {
  readonly text: string;
}

export interface FilePart extends Part {
  /** v3: base64, bytes or a URL; v4: one of these with its `type`, a provider's reference, or a text. */
  readonly data: unknown;
  readonly mediaType: string;
  readonly filename?: string | undefined;
}

export interface ToolCallPart extends Part {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerExecuted?: boolean | undefined;
}

export interface ToolResultPart extends Part {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: string; readonly value?: unknown; readonly reason?: string | undefined };
}

export function isText(part: Part): part is TextPart {
  return part.type === "text";
}

export function isResult(part: Part): part is ToolResultPart {
  return part.type === "tool-result";
}

export function partsOf(message: Message): readonly Part[] {
  return typeof message.content === "string" ? [] : message.content;
}

/** The number of messages of the system at the beginning. */
export function systemLength(prompt: readonly Message[]): number {
  const first = prompt.findIndex((message) => message.role !== "system");
  return first < 0 ? prompt.length : first;
}
