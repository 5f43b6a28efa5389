/**
 * A prompt with the daemon's context in place. A message whose blocks came back as they were stays the same object; of
 * another one only the part that changed is a new one.
 */

import { isDeepStrictEqual } from "node:util";

import { type Made, type Mark, type Pair, Pairing } from "./pairing.js";
import { isText, type Message, type Part, partsOf, systemLength } from "./prompt.js";
import { BLANK_LINE, type Block, joined, type ResultBlock, type Told, trimmed } from "./tell.js";

/**
 * The prompt with context in place.
 *
 * @param takesMarks whether marks for the provider's cache are set.
 * @throws WorkspacedError UNEXPECTED_ANSWER: the answer does not belong to this prompt.
 */
export function place(prompt: readonly Message[], told: Told, made: Made, takesMarks: boolean): Message[] {
  const { pairs, alone, inside, dropped, first } = new Pairing(told.blocks, made.messages).result();
  const length = systemLength(prompt);
  const system = placedSystem(prompt.slice(0, length), told.system, made.system ?? [], takesMarks);
  const isTold = new Set(told.blocks.map(({ at }) => at));
  const placed = prompt.flatMap((message, at) => {
    const isGone = isTold.has(at) && !pairs.has(at) && !inside.has(at);
    if (isGone || at < Math.max(length, first)) return [];
    const own = pairs.get(at) ?? [];
    const changed = placedMessage(message, own, inside.get(at) ?? [], dropped);
    const mark = takesMarks ? own.findLast((pair) => pair.made.cache_control !== undefined) : undefined;
    const before = (alone.get(at) ?? []).map((text) => ({ role: "user", content: [textPart(text)] }));
    return [...before, mark === undefined ? changed : marked(changed, mark.made.cache_control)];
  });
  return [...system, ...placed];
}

// -- placing --

function textPart(text: string): Part & { readonly text: string } {
  return { type: "text", text };
}

function placedMessage(
  message: Message,
  pairs: readonly Pair[],
  before: readonly string[],
  dropped: ReadonlySet<Part>,
): Message {
  if (message.role === "tool") return withResults(message, pairs);
  if (message.role !== "user") return message;
  const contexts = pairs.map(({ told, made }) =>
    told.block.type === "text" && made.type === "text" ? made.text.slice(0, -told.block.text.length) : "",
  );
  const context = [...before.map((text) => `${text}${BLANK_LINE}`), ...contexts].join("");
  const parts = partsOf(message).filter((part) => !dropped.has(part));
  if (!context) return parts.length === partsOf(message).length ? message : { ...message, content: parts };
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
    const pair = changed.find(({ told }) => told.part === part);
    return pair === undefined ? part : shortened(part, said(pair.made));
  });
  return { ...message, content };
}

function said(block: Block): { text: string; images: string[]; isError: boolean } {
  const { content = [], is_error: isError = false } = block as ResultBlock;
  const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  const text = joined(blocks.flatMap((each) => (each.type === "text" ? [each.text] : [])));
  return { text, images: blocks.flatMap((each) => (each.type === "image" ? [each.source.data] : [])), isError };
}

/** The result as the daemon shortened it, which takes its images, too. */
function shortened(part: Part, { text, isError }: ReturnType<typeof said>): Part {
  return { ...part, output: { type: isError ? "error-text" : "text", value: text } } as Part;
}

// -- the system prompt and marks --

/** With marks each note of the library is a message; else there is one message, since many models take no more. */
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
