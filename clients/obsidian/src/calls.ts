/** The last calls of agents in the vault, newest first, and each new one as it comes. */

import type { Client, EventType, Notice, Subscription, WorkspaceEvent } from "workspaced-client";

const TYPES: readonly EventType[] = ["tool_called", "context_volunteered", "context_inserted", "prompt_assembled"];
export const CALLS_MAX = 50;
/** Events of the log that are searched for calls at a time, and how often. */
const PAGE_EVENTS = 5_000;
const PAGES_MAX = 20;

/** What an agent was shown at one time. */
export interface Call {
  readonly seq: number;
  readonly time: string;
  readonly caller: string;
  /** The tool, or how else it was shown. */
  readonly what: string;
  readonly ok: boolean;
  /** How much, in words. */
  readonly size: string;
}

export function callOf(event: WorkspaceEvent): Call | undefined {
  const { seq, time, source } = event;
  if (event.type === "prompt_assembled") {
    const size = `about ${event.data.estimate.toLocaleString("en")} tokens`;
    return { seq, time, caller: source, what: "prompt", ok: true, size };
  }
  if (event.type !== "tool_called" && event.type !== "context_volunteered" && event.type !== "context_inserted") {
    return undefined;
  }
  const { caller, tool, ok, bytes } = event.data;
  const what = event.type === "tool_called" ? tool : "told unasked";
  return { seq, time, caller, what, ok, size: `${bytes.toLocaleString("en")} bytes` };
}

export class LastCalls {
  readonly #onChange: () => void;
  #client: Client | undefined;
  #subscription: Subscription | undefined;
  #calls: readonly Call[] = [];
  #problem: string | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get calls(): readonly Call[] {
    return this.#calls;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Follows the calls at this daemon; undefined: at none. */
  follow(client: Client | undefined): void {
    if (client === this.#client) return;
    this.#client = client;
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#take([]);
    if (client !== undefined) {
      void this.#follow(client).catch((error: unknown) => {
        this.#problem = error instanceof Error ? error.message : String(error);
        if (client === this.#client) this.#onChange();
      });
    }
  }

  async #follow(client: Client): Promise<void> {
    const subscription = await client.subscribe({ types: TYPES });
    if (client !== this.#client) return subscription.close();
    this.#subscription = subscription;
    const before = await lastCalls(client, seqOf(subscription.clock));
    if (client !== this.#client) return;
    this.#take(before);
    for await (const notice of subscription) this.#add(notice);
  }

  #add(notice: Notice): void {
    if (notice.kind === "fresh") this.#take([]);
    if (notice.kind === "events") this.#take([...callsOf(notice.events), ...this.#calls]);
  }

  #take(calls: readonly Call[]): void {
    const bySeq = new Map(calls.map((call) => [call.seq, call]));
    this.#problem = undefined;
    this.#calls = [...bySeq.values()].sort((a, b) => b.seq - a.seq).slice(0, CALLS_MAX);
    this.#onChange();
  }
}

/** The log is read backwards from `last`, a page at a time; of calls long ago nothing is shown. */
async function lastCalls(client: Client, last: number): Promise<Call[]> {
  let before = last + 1;
  const found: Call[] = [];
  for (let page = 0; page < PAGES_MAX && before > 1 && found.length < CALLS_MAX; page += 1) {
    const from = Math.max(1, before - PAGE_EVENTS);
    const { events } = await client.request("workspaced/log", { from, types: TYPES, limit: PAGE_EVENTS });
    found.unshift(...callsOf(events.filter(({ seq }) => seq < before)));
    before = from;
  }
  return found;
}

/** Of a clock, `<log id>:<seq>`. */
function seqOf(clock: string | undefined): number {
  return Number(clock?.slice(clock.lastIndexOf(":") + 1) ?? 0);
}

function callsOf(events: readonly WorkspaceEvent[]): Call[] {
  return events.flatMap((event) => callOf(event) ?? []);
}
