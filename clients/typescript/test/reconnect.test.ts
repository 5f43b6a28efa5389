/** Connections that break are mended, and nothing is recorded twice. */

import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";

import {
  type Action,
  type ConnectionState,
  type Client,
  type ConnectOptions,
  NoDaemon,
  TimedOut,
} from "workspaced-client";

import { cleanUp, client, Daemon, deferred, directory, failure } from "./harness.js";

/** Every test leaves it running. */
let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

function lookedAt(note: string): Action {
  return { type: "active_note_set", data: { note } };
}

/** A client for one test: another one's view would come back with the daemon. */
async function clientFor(context: TestContext, options: ConnectOptions): Promise<Client> {
  const made = await daemon.client(options);
  context.after(() => made.close());
  return made;
}

/** The state, once the daemon answers again. */
async function stateAgain(made: Client): Promise<Awaited<ReturnType<Client["state"]>>> {
  for (;;) {
    try {
      return await made.state();
    } catch (error) {
      assert.ok(error instanceof NoDaemon || error instanceof TimedOut, String(error));
    }
  }
}

test("after a crash it connects again, shows its view, and misses no event", async (context) => {
  const states: ConnectionState[] = [];
  const made = await clientFor(context, { name: "editor", onConnection: (state) => states.push(state) });
  await made.show({ active: "a.md", pins: ["b.md"], tabs: [{ note: "c.md" }] });
  const subscription = await made.subscribe({ types: ["active_note_set"] });
  const instance = made.server?.instance;
  await made.publish([lookedAt("c.md")]);
  assert.equal((await subscription.next()).value?.kind, "events");
  await daemon.kill();
  await daemon.start();
  const state = await stateAgain(made);
  assert.notEqual(made.server?.instance, instance);
  assert.equal(state.activeNote?.id, "a.md", "as the view says");
  assert.deepEqual(
    state.pinnedNotes.map((pin) => pin.id),
    ["b.md"],
  );
  const { value } = await subscription.next();
  assert.ok(value?.kind === "events");
  assert.deepEqual(
    value.events.map((event) => event.data),
    [{ note: "a.md" }],
  );
  assert.deepEqual(states, ["connected", "reconnecting", "connected"]);
});

test("what was in flight at the crash is recorded once, and in its order", async (context) => {
  const made = await clientFor(context, { name: "publisher", timeoutMs: 20_000 });
  const some = deferred<void>();
  let answered = 0;
  const sent = Array.from({ length: 400 }, async (_, number) => {
    const [receipt] = await made.publish([lookedAt(`n${number}.md`)]);
    answered += 1;
    if (answered === 20) some.resolve();
    return receipt?.seq ?? 0;
  });
  await some.promise;
  await daemon.kill();
  await daemon.start();
  const sequences = await Promise.all(sent);
  assert.deepEqual(
    sequences,
    [...new Set(sequences)].toSorted((a, b) => a - b),
  );
  const { events } = await made.request("workspaced/log", { types: ["active_note_set"], limit: 10_000 });
  assert.deepEqual(
    events
      .filter((event) => event.source === "publisher")
      .map((event) => (event.type === "active_note_set" ? event.data.note : "")),
    Array.from({ length: 400 }, (_, number) => `n${number}.md`),
  );
});

test("while no daemon runs a call times out, and later ones are answered", async (context) => {
  const made = await clientFor(context, { timeoutMs: 300 });
  await daemon.stop();
  assert.ok((await failure(made.publish([lookedAt("a.md")]))) instanceof TimedOut);
  assert.equal(made.isConnected, false);
  assert.ok((await failure(made.subscribe())) instanceof TimedOut);
  assert.ok((await failure(made.show({ active: "b.md" }))) instanceof TimedOut);
  await daemon.start();
  assert.equal((await stateAgain(made)).activeNote?.id, "b.md", "the view goes out once it can");
});

test("a UI may be there before its daemon", async (context) => {
  await daemon.stop();
  const states: ConnectionState[] = [];
  const made = await clientFor(context, { waitForDaemon: true, onConnection: (state) => states.push(state) });
  assert.equal(made.server, undefined);
  const shown = made.show({ active: "a.md" });
  await daemon.start();
  assert.equal((await shown).length, 1);
  assert.deepEqual(states, ["reconnecting", "connected"]);
});

test("a client that waits for its daemon can be closed", async () => {
  const states: ConnectionState[] = [];
  const made = await client({
    socket: `${directory()}/none`,
    waitForDaemon: true,
    onConnection: (s) => states.push(s),
  });
  await made.close();
  assert.deepEqual(states, ["reconnecting", "closed"]);
});
