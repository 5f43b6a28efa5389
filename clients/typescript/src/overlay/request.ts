/**
 * Reads a request to a provider, and inserts texts into it: what the client wrote stays as it is, in its order.
 *
 * A turn is a message of the user with something besides results of tools. Its key is a hash of all visible words of
 * user and assistant up to it, so the same chat has the same keys in each later request, whatever changes beside the
 * words. The daemon's own reader (`workspaced/overlay`) gives the same keys; `tests/data/overlay` holds both to it.
 */

import { createHash, type Hash } from "node:crypto";

import { fieldsOf, itemsOf, type Place, Unreadable } from "./places.js";

export type Form = "openai" | "responses" | "anthropic" | "gemini";

/** Who speaks; nothing: a system prompt, or what belongs to no side. */
type Side = "user" | "assistant" | "tool" | "";

interface Part {
  readonly type?: unknown;
  readonly text?: string | null;
  readonly thought?: boolean | null;
  readonly [other: string]: unknown;
}

interface Message {
  readonly role: string;
  readonly type: string;
  readonly parts: readonly Part[];
}

/** A message of the user. */
export interface Turn {
  readonly key: string;
  /** Of these words and the answer before them alone: it finds a chat whose older messages were rewritten. */
  readonly near: string;
  readonly message: Place;
}

/** What an overlay needs of a request. */
export interface ChatRequest {
  readonly form: Form;
  /** With each sign at its place in the body. */
  readonly text: string;
  readonly turns: readonly Turn[];
  /** Whether nothing answers the last turn yet. */
  readonly isOpen: boolean;
  /** A hash of what the client calls the chat; empty if it does not. */
  readonly chat: string;
  readonly firstWords: string;
  /** A hash of the name of what the provider holds of the chat, so that it is not there; empty: nothing. */
  readonly held: string;
  /** Whether a text of ours stands there already, such as a hook's. */
  readonly isTold: boolean;
  readonly hasTools: boolean;
}

const MESSAGES = { openai: "messages", responses: "input", anthropic: "messages", gemini: "contents" } as const;
/** Where clients name their chat. */
const CHAT_NAMES = ["prompt_cache_key", "session_id", "metadata"];
/** Where requests name what the provider holds of their chat: fields, and fields of these if they are objects. */
const HELD = [["previous_response_id", ""], ["conversation", "id"], ["thread", "previous_message_id"]] as const;
const EMPTY = /^(?:null|""|\[[ \t\r\n]*\]|\{[ \t\r\n]*\}|)$/;
/** Items of responses that the client writes beside the words; after all others a turn is not open any more. */
const SETTINGS = ["additional_tools", "configuration_update"];
const RESULTS = ["functionResponse", "function_response", "toolResponse", "tool_response"];
const PROGRAMS_WORDS = ["<system-reminder>", "<task-notification>"];
/** How a text of ours begins, whoever put it there. */
const TAG = "<workspace as-of=";
const TRIMMED = new Set(" \t\r\n");
const HALF = /\\u[dD][89a-fA-F]/;
const LONE_SURROGATE = /(\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|\\u[dD][89a-fA-F][\da-fA-F]{2}/g;

/** @throws Unreadable: it is no request of that form, or neither holds a message of the user nor continues a chat. */
export function readRequest(form: Form, body: string): ChatRequest {
  const value = parsed(body);
  const text = HALF.test(body) ? body.replace(LONE_SURROGATE, (_, kept?: string) => kept ?? "\\ufffd") : body;
  const fields = fieldsOf(text, { start: 0, end: text.length });
  const at = fields.get(MESSAGES[form]);
  if (at === undefined) throw new Unreadable(`there is no field '${MESSAGES[form]}'`);
  const said = value[MESSAGES[form]];
  const name = heldOf(text, fields);
  const chat = new Chat(form, name);
  if (form === "responses" && typeof said === "string") {
    chat.take({ role: "user", type: "", parts: [{ text: said }] }, at, true);
  } else {
    const places = itemsOf(text, at);
    for (const [number, place] of places.entries()) {
      chat.take(messageOf(form, (said as unknown[])[number]), place, number === places.length - 1);
    }
  }
  if (chat.turns.length === 0 && name === "") throw new Unreadable("there is no message of the user");
  const names = CHAT_NAMES.map((name) => slice(text, fields.get(name)));
  const chatName = names.find((each) => !EMPTY.test(each));
  const { turns, isOpen, firstWords, isTold } = chat;
  const hasTools = !EMPTY.test(slice(text, fields.get("tools")));
  const hashed = { chat: chatName === undefined ? "" : sha256(chatName), held: name === "" ? "" : sha256(name) };
  return { hasTools, form, text, turns, isOpen, ...hashed, firstWords, isTold };
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The name of the part of the chat that the provider holds, so that it is not in the request; empty: there is none. */
function heldOf(text: string, fields: ReadonlyMap<string, Place>): string {
  for (const [field, inner] of HELD) {
    let at = fields.get(field);
    if (at !== undefined && text[at.start] === "{") at = fieldsOf(text, at).get(inner);
    const name: unknown = at !== undefined && text[at.start] === '"' ? JSON.parse(slice(text, at)) : "";
    if (name !== "") return name as string;
  }
  return "";
}

function parsed(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch (error) {
    throw new Unreadable(String(error));
  }
}

function slice(text: string, place: Place | undefined): string {
  return place === undefined ? "" : text.slice(place.start, place.end);
}

/** The message; of what is none, or of a part that is none, nothing. */
function messageOf(form: Form, value: unknown): Message {
  const { role, type, content, parts } = objectOf(value);
  const said = form === "gemini" ? parts : content;
  const list = typeof said === "string" && form !== "gemini" ? [{ text: said }] : Array.isArray(said) ? said : [];
  return { role: stringOf(role), type: stringOf(type), parts: list.map(partOf) };
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function partOf(value: unknown): Part {
  const part = objectOf(value);
  const fits = (name: string, kind: string): boolean => typeof (part[name] ?? undefined) === kind || part[name] == null;
  return fits("type", "string") && fits("text", "string") && fits("thought", "boolean") ? part : {};
}

/** Whether it is the result of a tool of the client's, or of one that the provider runs (`web_search_tool_result`). */
function isResult(part: Part): boolean {
  return stringOf(part.type).endsWith("tool_result") || RESULTS.some((name) => part[name] != null);
}

function trimmed(text: string): string {
  let [begin, end] = [0, text.length];
  while (begin < end && TRIMMED.has(text[begin] as string)) begin += 1;
  while (begin < end && TRIMMED.has(text[end - 1] as string)) end -= 1;
  return text.slice(begin, end);
}

/** Takes the messages of a request, one by one. */
class Chat {
  readonly turns: Turn[] = [];
  isOpen = false;
  firstWords = "";
  isTold = false;
  readonly #form: Form;
  readonly #words: Hash;
  /** The words of the assistant since the last turn. */
  #answer: string[] = [];

  /** @param held names what the provider holds of the chat already. */
  constructor(form: Form, held: string) {
    this.#form = form;
    this.#words = createHash("sha256").update(held);
  }

  take(message: Message, place: Place, isLast: boolean): void {
    const { parts } = message;
    let side = sideOf(this.#form, message);
    let texts = parts.flatMap(({ text, thought }) => (text && !thought ? trimmed(text) || [] : []));
    if (side === "user") {
      const own = texts.filter((text) => !PROGRAMS_WORDS.some((begin) => text.startsWith(begin)));
      const isTurn = own.length > 0 || parts.some((part) => part.text == null && !isResult(part));
      this.isTold ||= texts.some((text) => text.includes(TAG));
      side = isTurn ? "user" : parts.some(isResult) ? "tool" : "";
      texts = own;
    }
    if (side === "user" || side === "assistant") this.#hash(side, texts);
    if (side === "user") this.#turn(place, texts);
    else if (side === "tool" || (side === "assistant" && !isLast)) this.isOpen = false; // a last answer is a beginning
  }

  #hash(side: Side, texts: readonly string[]): void {
    for (const text of texts) {
      const data = wellFormed(text);
      this.#words.update(`${side} ${data.length} `).update(data);
    }
    if (side === "assistant") this.#answer.push(...texts);
  }

  #turn(message: Place, texts: readonly string[]): void {
    const near = sha256(wellFormed([...this.#answer, "", ...texts].join("\0")));
    this.#words.update("turn");
    this.firstWords ||= sha256(wellFormed(texts.join("\n")));
    this.turns.push({ key: this.#words.copy().digest("hex"), near, message });
    this.isOpen = true;
    this.#answer = [];
  }
}

/** Half a surrogate pair becomes U+FFFD. */
function wellFormed(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

function sideOf(form: Form, { role, type }: Message): Side {
  const kind = type || (role && "message"); // a reference may have no type
  if (form === "responses" && kind !== "message") return SETTINGS.includes(kind) ? "" : "tool";
  const known = form === "gemini" ? (role === "model" ? "assistant" : role || "user") : role;
  if (known === "tool" || known === "function") return "tool";
  return known === "user" || known === "assistant" ? known : "";
}

// -- insertion --

/**
 * The body with these texts before the turns with these keys: before the user's own words and behind results of
 * tools, so that a mark of the client's on its last block covers them.
 *
 * @throws Unreadable: a field of such a message stands twice.
 */
export function inserted(request: ChatRequest, body: string, texts: ReadonlyMap<string, string>): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { key, message } of request.turns) {
    const words = texts.get(key);
    for (const [offset, data] of words === undefined ? [] : into(request, message, words)) {
      pieces.push(body.slice(at, offset), data);
      at = offset;
    }
  }
  return [...pieces, body.slice(at)].join("");
}

function into({ form, text }: ChatRequest, message: Place, words: string): [offset: number, data: string][] {
  const name = form === "gemini" ? "parts" : "content";
  const content = text[message.start] === '"' ? message : fieldsOf(text, message).get(name);
  const quoted = JSON.stringify(words);
  if (content === undefined) return [];
  if (text[content.start] === '"') {
    if (form === "anthropic") { // clients write the same message in either form, so it is a list of blocks in both
      const opened = `[{"type":"text","text":${quoted}},{"type":"text","text":`;
      return [[content.start, opened], [content.end, "}]"]];
    }
    return [[content.start + 1, `${quoted.slice(1, -1)}\\n\\n`]];
  }
  if (text[content.start] !== "[") return [];
  const places = itemsOf(text, content);
  const behind = places.findLastIndex((place) => isResult(partOf(JSON.parse(slice(text, place))))) + 1;
  const kind = form === "gemini" ? "" : `"type":"${form === "responses" ? "input_text" : "text"}",`;
  const part = `{${kind}"text":${quoted}}`;
  const [before, last] = [places[behind], places.at(-1)];
  if (before !== undefined) return [[before.start, `${part},`]];
  return [last === undefined ? [content.start + 1, part] : [last.end, `,${part}`]];
}
