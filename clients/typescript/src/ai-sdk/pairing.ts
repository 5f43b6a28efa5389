/**
 * Pairs the blocks of the daemon's answer with those that it was told.
 *
 * The daemon puts context before words of the user. Over the budget it shortens results, takes images out (the context
 * says so), and folds the oldest turns away. So blocks are paired from the last one backwards: what is left over at the
 * beginning was folded. An answer that does anything else is not believed.
 */

import { isDeepStrictEqual } from "node:util";

import { WorkspacedError } from "../errors.js";
import type { Part } from "./prompt.js";
import { BLANK_LINE, type Block, type ToldBlock } from "./tell.js";

/** Anthropic's mark: the provider caches what stands up to there. */
export type Mark = unknown;
export type MadeBlock = Block & { readonly cache_control?: Mark };

/** Messages as the daemon answers them. */
export interface Made {
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: readonly MadeBlock[] }>;
  readonly system: ReadonlyArray<{ readonly text: string; readonly cache_control?: Mark }> | null;
}

export interface Pair {
  readonly told: ToldBlock;
  readonly made: MadeBlock;
}

export interface Paired {
  /** By the place of their message in the prompt. */
  readonly pairs: ReadonlyMap<number, readonly Pair[]>;
  /** New texts of the user, by the place of the message before which they stand. */
  readonly alone: ReadonlyMap<number, readonly string[]>;
  /** Likewise, by the place of the message of images that they belong to. */
  readonly inside: ReadonlyMap<number, readonly string[]>;
  /** Images that are left out. */
  readonly dropped: ReadonlySet<Part>;
  /** The place of the first message that is not folded away. */
  readonly first: number;
}

/** Which block of the daemon's answer was made of which one that it was told. */
export class Pairing {
  readonly #told: readonly ToldBlock[];
  readonly #pairs = new Map<number, Pair[]>();
  readonly #alone = new Map<number, string[]>();
  readonly #inside = new Map<number, string[]>();
  readonly #dropped = new Set<Part>();
  /** So many of the told blocks are not paired yet. */
  #left: number;

  /** @throws WorkspacedError UNEXPECTED_ANSWER: a block of the answer is none of the prompt's. */
  constructor(told: readonly ToldBlock[], made: Made["messages"]) {
    this.#told = told;
    this.#left = told.length;
    for (const { role, content } of made.toReversed()) {
      let behind: ToldBlock | undefined;
      for (const block of content.toReversed()) behind = this.#pair(role, block, behind) ?? behind;
    }
  }

  /** @throws WorkspacedError UNEXPECTED_ANSWER: the answer leaves out a part that no budget leaves out. */
  result(): Paired {
    const [before, begin] = [this.#told[this.#left - 1], this.#told[this.#left]];
    if (begin === undefined || before?.at === begin.at) throw unexpected("a part of a message alone");
    const first = before === undefined ? 0 : begin.at;
    return { pairs: this.#pairs, alone: this.#alone, inside: this.#inside, dropped: this.#dropped, first };
  }

  /** The told block that the made one is of, if any; `behind`: that of the one behind it in its message. */
  #pair(role: string, made: MadeBlock, behind: ToldBlock | undefined): ToldBlock | undefined {
    const without = this.#withoutImages(behind);
    for (const left of [this.#left, without]) {
      const told = this.#told[left - 1];
      if (told === undefined || told.role !== role || !isOf(made, told)) continue;
      this.#drop(left);
      this.#left = left - 1;
      prepend(this.#pairs, told.at, { told, made });
      return told;
    }
    if (role !== "user" || made.type !== "text" || behind?.block.type === "tool_result") {
      throw unexpected(`a block of type ${made.type} that is none of the prompt's`);
    }
    const image = this.#told[this.#left - 1];
    if (without < this.#left && image !== undefined && this.#told[without - 1]?.at !== image.at) {
      this.#drop(without);
      this.#left = without;
      prepend(this.#inside, image.at, made.text);
      return image;
    }
    const next = this.#told[this.#left];
    if (next === undefined) throw unexpected("words behind those of the prompt");
    prepend(behind === undefined ? this.#alone : this.#inside, next.at, made.text);
    return undefined;
  }

  /** How many told blocks are left without the last images: before a block of the user, those of its message. */
  #withoutImages(behind: ToldBlock | undefined): number {
    const last = this.#told[this.#left - 1];
    let left = this.#left;
    if (behind?.role === "user" && behind.at !== last?.at) return left;
    while (this.#told[left - 1]?.block.type === "image" && this.#told[left - 1]?.at === last?.at) left -= 1;
    return left;
  }

  #drop(left: number): void {
    for (const { part } of this.#told.slice(left, this.#left)) if (part !== undefined) this.#dropped.add(part);
  }
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
function isOf(made: Block, { role, block: told }: ToldBlock): boolean {
  if (made.type === "text" && told.type === "text") {
    return made.text === told.text || (role === "user" && made.text.endsWith(`${BLANK_LINE}${told.text}`));
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
