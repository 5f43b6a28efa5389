/**
 * A prompt as the daemon is told it: in the form of Anthropic's messages, which holds images and failures of tools
 * whoever's model it is.
 *
 * What the form does not hold, such as a PDF, is named in a line of text. Reasoning is not told at all. Both stay in
 * the prompt, since only what the daemon changes is taken from its answer.
 */

import { createHash } from "node:crypto";

import {
  type FilePart,
  isResult,
  isText,
  type Message,
  type Part,
  partsOf,
  systemLength,
  type ToolCallPart,
  type ToolResultPart,
} from "./prompt.js";

export interface ImageBlock {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
}

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface CallBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface ResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content?: string | ReadonlyArray<TextBlock | ImageBlock>;
  readonly is_error?: boolean;
}

export type Block = TextBlock | ImageBlock | CallBlock | ResultBlock;

export interface ToldBlock {
  readonly role: "user" | "assistant" | "system";
  readonly block: Block;
  /** The place of its message in the prompt. */
  readonly at: number;
}

export interface Told {
  readonly system: string;
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: readonly Block[] }>;
  /** All blocks of the messages, in their order. */
  readonly blocks: readonly ToldBlock[];
}

const BLANK_LINE = "\n\n";
const IMAGE_TYPES = new Set(["image/gif", "image/jpeg", "image/png", "image/webp"]);
const SHOWN_CHARS_MAX = 200;
const HASH_CHARS = 16;

/** Without what the daemon cuts off around a text. */
export function trimmed(text: string): string {
  return text.replace(/^[ \t\r\n]+/, "").replace(/[ \t\r\n]+$/, "");
}

/** The texts of blocks, as the daemon joins them. */
export function joined(texts: readonly string[]): string {
  return texts.map(trimmed).filter(Boolean).join(BLANK_LINE);
}

export function tell(prompt: readonly Message[]): Told {
  const first = systemLength(prompt);
  const called = new Set<string>();
  const messages: { role: string; content: readonly Block[] }[] = [];
  const blocks: ToldBlock[] = [];
  for (const [at, message] of prompt.entries()) {
    const role = message.role === "tool" ? "user" : (message.role as ToldBlock["role"]);
    const content = at < first ? [] : blocksOf(message, called);
    if (content.length > 0) messages.push({ role, content });
    blocks.push(...content.map((block) => ({ role, block, at })));
  }
  return { system: joined(prompt.slice(0, first).map(({ content }) => String(content))), messages, blocks };
}

function blocksOf(message: Message, called: Set<string>): Block[] {
  const parts = partsOf(message);
  if (message.role === "tool") {
    return parts.filter(isResult).flatMap((part) => (called.has(part.toolCallId) ? [resultOf(part)] : []));
  }
  const isUser = message.role === "user";
  const images = isUser ? parts.flatMap((part) => imageOf(part) ?? []) : [];
  const calls = parts.filter(isOwnCall);
  for (const { toolCallId } of calls) called.add(toolCallId);
  const texts = typeof message.content === "string" ? [message.content] : parts.map((part) => lineOf(part, isUser));
  const text = joined(texts);
  return [
    ...(text ? [{ type: "text", text } as const] : []),
    ...images,
    ...calls.map(({ toolCallId: id, toolName: name, input }) => ({ type: "tool_use", id, name, input }) as const),
  ];
}

/** A call that the app answers; a provider's own has no result that the daemon could pair with it. */
function isOwnCall(part: Part): part is ToolCallPart {
  return part.type === "tool-call" && !(part as ToolCallPart).providerExecuted;
}

/** The part as text; empty if it is told in another way, or not at all. */
function lineOf(part: Part, isUser: boolean): string {
  if (isText(part)) return part.text;
  if (part.type.startsWith("reasoning") || isOwnCall(part)) return "";
  if (part.type === "file") return isUser && imageOf(part) !== undefined ? "" : `[File: ${described(part as FilePart)}]`;
  const { toolName = "" } = part as Partial<ToolCallPart>;
  return `[${[part.type, toolName].filter(Boolean).join(" ")}]`;
}

function imageOf(part: Part): ImageBlock | undefined {
  const { data, mediaType } = part as Partial<FilePart>;
  if (mediaType === undefined || !IMAGE_TYPES.has(mediaType)) return undefined;
  const base64 = base64Of(data);
  return base64 === undefined
    ? undefined
    : { type: "image", source: { type: "base64", media_type: mediaType, data: base64 } };
}

function base64Of(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  const tagged = data as { type?: unknown; data?: unknown } | null | undefined;
  return tagged?.type === "data" ? base64Of(tagged.data) : undefined;
}

/** Names a file, and tells it from another one of the same name. */
function described({ filename, mediaType, data }: FilePart): string {
  const content = base64Of(data);
  const { url = data } = data as { url?: unknown };
  const where =
    content === undefined && url instanceof URL
      ? url.href.slice(0, SHOWN_CHARS_MAX)
      : `sha256 ${hashOf(content ?? JSON.stringify(data))}`;
  return [filename, mediaType, where].filter(Boolean).join(", ");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARS);
}

function resultOf({ toolCallId, output }: ToolResultPart): ResultBlock {
  const content = output.type === "content" ? (output.value as readonly Part[]) : [];
  const images = content.flatMap((part) => imageOf(part) ?? []);
  const lines = content.map((part) => (imageOf(part) === undefined ? lineOf(part, false) : ""));
  const text = output.type === "content" ? joined(lines) : textOf(output);
  const isError = output.type.startsWith("error") || output.type === "execution-denied";
  return {
    type: "tool_result",
    tool_use_id: toolCallId,
    content: [...(text ? [{ type: "text", text } as const] : []), ...images],
    ...(isError ? { is_error: true } : {}),
  };
}

function textOf({ type, value, reason }: ToolResultPart["output"]): string {
  if (type === "execution-denied") return reason ?? "The user did not allow this call.";
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
