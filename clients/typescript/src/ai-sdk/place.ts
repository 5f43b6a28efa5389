/**
 * A prompt with the daemon's context in place.
 *
 * The daemon puts context before words of the user, shortens results, folds the oldest turns away, and puts a library
 * behind the system prompt. So its blocks are paired with those it was told, from the last one backwards. A message
 * whose blocks came back as they were stays the same object; of another one only the part that changed is a new one.
 */

import { isDeepStrictEqual } from "node:util";

import { WorkspacedError } from "../errors.js";
import { isResult, isText, type Message, type Part, partsOf, systemLength, type ToolResultPart } from "./prompt.js";
import { type Block, joined, type ResultBlock, type Told, type ToldBlock, trimmed } from "./tell.js";

/** Anthropic's mark: the provider caches what stands up to there. */
type Mark = unknown;
type MadeBlock = Block & { readonly cache_control?: Mark };

/** Messages as the daemon answers them. */
export interface Made {
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: readonly MadeBlock[] }>;
  readonly system: ReadonlyArray<{ readonly text: string; readonly cache_control?: Mark }> | null;
}

interface Pair {
  readonly told: ToldBlock;
  readonly made: MadeBlock;
}

interface Paired {
  /** By the place of their message in the prompt. */
  readonly pairs: ReadonlyMap<number, readonly Pair[]>;
  /** New texts of the user, by the place of the message before which or at whose beginning they stand. */
  readonly alone: ReadonlyMap<number, readonly string[]>;
  readonly inside: ReadonlyMap<number, readonly string[]>;
  /** The place of the first message that is not folded away. */
  readonly first: number;
}

const QUERY_FRAME = "---\n\n[User query]:\n\n";

/**
 * The prompt with context in place.
 *
 * @param takesMarks whether marks for the provider's cache are set.
 * @throws WorkspacedError UNEXPECTED_ANSWER: the answer does not belong to this prompt.
 */
export function place(prompt: readonly Message[], told: Told, made: Made, takesMarks: boolean): Message[] {
  const { pairs, alone, inside, first } = paired(told.blocks, made.messages);
  const system = placedSystem(prompt.slice(0, systemLength(prompt)), told.system, made.system ?? [], takesMarks);
  const placed = prompt.flatMap((message, at) => {
    if (at < first) return [];
    const own = pairs.get(at) ?? [];
    const changed = placedMessage(message, own, inside.get(at) ?? []);
    const mark = takesMarks ? own.findLast((pair) => pair.made.cache_control !== undefined) : undefined;
    const new_ = (alone.get(at) ?? []).map((text) => ({ role: "user", content: [textPart(text)] }));
    return [...new_, mark === undefined ? changed : marked(changed, mark.made.cache_control)];
  });
  return [...system, ...placed];
}

// -- pairing --

function paired(told: readonly ToldBlock[], made: Made["messages"]): Paired {
  const pairs = new Map<number, Pair[]>();
  const alone = new Map<number, string[]>();
  const inside = new Map<number, string[]>();
  let left = told.length;
  for (const { role, content } of made.toReversed()) {
    let behind: ToldBlock | undefined;
    for (const block of content.toReversed()) {
      const candidate = told[left - 1];
      if (candidate !== undefined && candidate.role === role && isOf(block, candidate.block)) {
        left -= 1;
        behind = candidate;
        prepend(pairs, candidate.at, { told: candidate, made: block });
      } else if (role === "user" && block.type === "text" && left < told.length) {
        const at = (told[left] as ToldBlock).at;
        prepend(behind === undefined || behind.block.type === "tool_result" ? alone : inside, at, block.text);
      } else {
        throw unexpected(`a block of type ${block.type} that is none of the prompt's`);
      }
    }
  }
  const begin = told[left];
  if (begin === undefined || told[left - 1]?.at === begin.at) throw unexpected("a part of a message alone");
  return { pairs, alone, inside, first: left === 0 ? (told[0] as ToldBlock).at : begin.at };
}

function prepend<Value>(map: Map<number, Value[]>, at: number, value: Value): void {
  map.set(at, [value, ...(map.get(at) ?? [])]);
}

function unexpected(what: string): WorkspacedError {
  return new WorkspacedError("UNEXPECTED_ANSWER", `The daemon answered with ${what}.`, {
    hint: "Update the client, or the daemon.",
  });
}

/** Whether the one was made of the other: with context before it, or as a shorter result. Ids may be others. */
function isOf(made: Block, told: Block): boolean {
  if (made.type === "text" && told.type === "text") {
    return made.text === told.text || made.text.endsWith(`${QUERY_FRAME}${told.text}`);
  }
  if (made.type === "image" && told.type === "image") return made.source.data === told.source.data;
  if (made.type === "tool_use" && told.type === "tool_use") {
    return made.name === told.name && isDeepStrictEqual(made.input, asJson(told.input));
  }
  return made.type === "tool_result" && told.type === "tool_result";
}

/** The value as JSON has it. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? {}));
}

// -- placing --

function textPart(text: string): Part & { readonly text: string } {
  return { type: "text", text };
}

function placedMessage(message: Message, pairs: readonly Pair[], before: readonly string[]): Message {
  if (message.role === "tool") return withResults(message, pairs);
  if (message.role !== "user") return message;
  const contexts = pairs.map(({ told, made }) =>
    told.block.type === "text" && made.type === "text" ? made.text.slice(0, -told.block.text.length) : "",
  );
  const context = [...before.map((text) => `${text}\n\n`), ...contexts].join("");
  if (!context) return message;
  const parts = partsOf(message);
  const first = parts.findIndex((part) => isText(part) && trimmed(part.text) !== "");
  const content =
    first < 0
      ? [textPart(trimmed(context)), ...parts]
      : parts.map((part, at) => (at === first && isText(part) ? { ...part, text: `${context}${part.text}` } : part));
  return { ...message, content };
}

function withResults(message: Message, pairs: readonly Pair[]): Message {
  const changed = pairs.filter(({ told, made }) => !isDeepStrictEqual(said(told.block), said(made)));
  if (changed.length === 0) return message;
  const content = partsOf(message).map((part) => {
    const pair = isResult(part) ? changed.find(({ told }) => idOf(told.block) === part.toolCallId) : undefined;
    return pair === undefined ? part : withText(part as ToolResultPart, said(pair.made));
  });
  return { ...message, content };
}

function idOf(block: Block): string | undefined {
  return block.type === "tool_result" ? block.tool_use_id : undefined;
}

function said(block: Block): { text: string; images: string[]; isError: boolean } {
  const { content = [], is_error: isError = false } = block as ResultBlock;
  const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  const text = joined(blocks.flatMap((each) => (each.type === "text" ? [each.text] : [])));
  return { text, images: blocks.flatMap((each) => (each.type === "image" ? [each.source.data] : [])), isError };
}

function withText(part: ToolResultPart, { text, isError }: ReturnType<typeof said>): Part {
  const output = { type: isError ? "error-text" : "text", value: text };
  return { ...part, output } as ToolResultPart;
}

// -- the system prompt and marks --

/** With marks each note of the library is a message of its own, else it stands in the one message that many models take. */
function placedSystem(
  own: readonly Message[],
  told: string,
  made: NonNullable<Made["system"]>,
  takesMarks: boolean,
): readonly Message[] {
  const [head, ...rest] = made;
  const library = head !== undefined && head.text === told ? rest : made;
  const last = own.at(-1);
  if (takesMarks) {
    const mark = library === rest ? head?.cache_control : undefined;
    const kept = mark === undefined || last === undefined ? own : [...own.slice(0, -1), marked(last, mark)];
    const notes = library.map(({ text, cache_control: each }) => {
      const message = { role: "system", content: text };
      return each === undefined ? message : marked(message, each);
    });
    return [...kept, ...notes];
  }
  if (library.length === 0) return own;
  const texts = library.map(({ text }) => text);
  if (last === undefined) return [{ role: "system", content: joined(texts) }];
  return [...own.slice(0, -1), { ...last, content: joined([String(last.content), ...texts]) }];
}

function marked(message: Message, mark: Mark): Message {
  const { anthropic, ...others } = message.providerOptions ?? {};
  return {
    ...message,
    providerOptions: { ...others, anthropic: { ...(anthropic as object | undefined), cacheControl: mark } },
  };
}
