/** Which agent called a tool last, of each connected daemon; follows its log from the connection on. */

import type { Client } from "workspaced-client";
import type { PublisherStatus } from "workspaced-client/publisher";

import type { LastCall } from "./words.js";

export class LastCalls {
  readonly #onCall: () => void;
  /** By client: each connection has one of its own, and ends with it. */
  readonly #followed = new WeakSet<Client>();
  /** By socket; outlasts a connection. */
  readonly #calls = new Map<string, LastCall>();

  constructor(onCall: () => void) {
    this.#onCall = onCall;
  }

  of(socket: string): LastCall | undefined {
    return this.#calls.get(socket);
  }

  /** Follows daemons that it does not follow yet. Never throws. */
  follow({ daemons }: PublisherStatus, clientFor: (path: string) => Client | undefined): void {
    for (const { socket, state, vaults } of daemons) {
      const client = state === "connected" && vaults[0] ? clientFor(vaults[0].path) : undefined;
      if (client === undefined || this.#followed.has(client)) continue;
      this.#followed.add(client);
      // Refused, or lost: the next connection is another client.
      this.#read(socket, client).catch(() => undefined);
    }
  }

  async #read(socket: string, client: Client): Promise<void> {
    for await (const notice of await client.subscribe({ types: ["tool_called"] })) {
      const event = notice.kind === "events" ? notice.events.at(-1) : undefined;
      if (event?.type !== "tool_called") continue;
      this.#calls.set(socket, { tool: event.data.tool, caller: event.data.caller, time: event.time });
      this.#onCall();
    }
  }
}
