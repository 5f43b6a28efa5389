/**
 * A prompt as the daemon is told it: in the form of Anthropic's messages, which holds images and failures of tools
 * whoever's model it is.
 *
 * What the form does not hold, such as a PDF, is named in a line of text. Reasoning is not told at all. Both stay in
 * the prompt, since only what the daemon changes is taken from its answer.
 */

import { createHash } from "node:crypto";

import { IMAGE_BYTES_MAX } from "../limits.js";
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
  /** The part that it tells; texts tell several. */
  readonly part?: Part;
  /** The place of its message in the prompt. */
  readonly at: number;
}

export interface Told {
  readonly system: string;
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: readonly Block[] }>;
  /** All blocks of the messages, in their order. */
  readonly blocks: readonly ToldBlock[];
}

/** Between the texts of a message, and between a context and the words behind it. */
export const BLANK_LINE = "\n\n";

const IMAGE_TYPES = new Set(["image/gif", "image/jpeg", "image/png", "image/webp"]);
const BASE64_CHARS_MAX = Math.floor((IMAGE_BYTES_MAX * 4) / 3);
const TRIMMED = new Set(" \t\r\n");
const SHOWN_CHARS_MAX = 200;
const HASH_CHARS = 16;

/** Without what the daemon cuts off. No expression: one for the end takes the square of long runs within the text. */
export function trimmed(text: string): string {
  let [begin, end] = [0, text.length];
  while (begin < end && TRIMMED.has(text[begin] as string)) begin += 1;
  while (begin < end && TRIMMED.has(text[end - 1] as string)) end -= 1;
  return text.slice(begin, end);
}

/** Texts as the daemon joins them; half a surrogate pair is no text to it. */
export function joined(texts: readonly string[]): string {
  return texts.map((text) => trimmed(text).toWellFormed()).filter(Boolean).join(BLANK_LINE);
}

export function tell(prompt: readonly Message[]): Told {
  const first = systemLength(prompt);
  const called = new Set<string>();
  const messages: { role: string; content: readonly Block[] }[] = [];
  const blocks: ToldBlock[] = [];
  for (const [at, message] of prompt.entries()) {
    const role = message.role === "tool" ? "user" : (message.role as ToldBlock["role"]);
    const content = at < first ? [] : blocksOf(message, called);
    if (content.length > 0) messages.push({ role, content: content.map(({ block }) => block) });
    blocks.push(...content.map((each) => ({ ...each, role, at })));
  }
  return { system: joined(prompt.slice(0, first).map(({ content }) => String(content))), messages, blocks };
}

function blocksOf(message: Message, called: Set<string>): Pick<ToldBlock, "block" | "part">[] {
  const parts = partsOf(message);
  if (message.role === "tool") {
    const answers = parts.filter(isResult).filter(({ toolCallId }) => called.has(toolCallId));
    return answers.map((part) => ({ block: resultOf(part), part }));
  }
  const isUser = message.role === "user";
  const texts = typeof message.content === "string" ? [message.content] : parts.map((part) => lineOf(part, isUser));
  const words = joined(texts);
  const images = isUser ? parts.map((part) => ({ block: imageOf(part), part })) : [];
  const calls = parts.filter(isOwnCall);
  for (const { toolCallId } of calls) called.add(toolCallId);
  return [
    ...(words ? [{ block: textBlock(words) }] : []),
    ...images.flatMap(({ block, part }) => (block === undefined ? [] : [{ block, part }])),
    ...calls.map((part) => ({ block: callOf(part) })),
  ];
}

function callOf({ toolCallId: id, toolName: name, input }: ToolCallPart): CallBlock {
  return { type: "tool_use", id, name, input };
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

/** A call that the app answers; a provider's own has no result that the daemon could pair with it. */
function isOwnCall(part: Part): part is ToolCallPart {
  return part.type === "tool-call" && !(part as ToolCallPart).providerExecuted;
}

/** The part as text; empty if it is told in another way, or not at all. */
function lineOf(part: Part, isUser: boolean): string {
  if (isText(part)) return part.text;
  if (part.type.startsWith("reasoning") || isOwnCall(part)) return "";
  if (isUser && imageOf(part) !== undefined) return "";
  if (part.type === "file") return `[File: ${described(part as FilePart)}]`;
  const { toolName = "" } = part as Partial<ToolCallPart>;
  return `[${[part.type, toolName].filter(Boolean).join(" ")}]`;
}

/** The part as the daemon takes an image. */
function imageOf(part: Part): ImageBlock | undefined {
  const { data, mediaType } = part as Partial<FilePart>;
  if (mediaType === undefined || !IMAGE_TYPES.has(mediaType)) return undefined;
  const base64 = base64Of(data);
  if (base64 === undefined || base64.length > BASE64_CHARS_MAX) return undefined;
  return { type: "image", source: { type: "base64", media_type: mediaType, data: base64 } };
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
  const text = joined(output.type === "content" ? lines : [textOf(output)]);
  const isError = output.type.startsWith("error") || output.type === "execution-denied";
  return {
    type: "tool_result",
    tool_use_id: toolCallId,
    content: [...(text ? [textBlock(text)] : []), ...images],
    ...(isError ? { is_error: true } : {}),
  };
}

function textOf({ type, value, reason }: ToolResultPart["output"]): string {
  if (type === "execution-denied") return reason ?? "The user did not allow this call.";
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
