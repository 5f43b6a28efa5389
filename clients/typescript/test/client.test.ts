/** Calls over one connection: what goes out, what comes back, and how it fails. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  type Action,
  type Client,
  InvalidArgument,
  newId,
  NoDaemon,
  QueueFull,
  RemoteError,
  TimedOut,
} from "workspaced-client";

import { cleanUp, client, Daemon, directory, failure, Fake, SILENCE, wireError } from "./harness.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

function lookedAt(note: string): Action {
  return { type: "active_note_set", data: { note } };
}

/** Only compiled: what the types must refuse. */
export async function refused(made: Client): Promise<void> {
  // @ts-expect-error: there is no such action
  await made.publish([{ type: "note_painted", data: {} }]);
  // @ts-expect-error: it needs a note
  await made.publish([{ type: "note_pinned", data: {} }]);
  // @ts-expect-error: only the daemon publishes it
  await made.publish([{ type: "daemon_started", data: { version: "", pid: 1 } }]);
  // @ts-expect-error: it needs a query
  await made.call("search_workspace", {});
  // @ts-expect-error: there is no such source
  await made.show({ active: null, tabs: [{ note: "a.md", source: "elsewhere" }] });
  // @ts-expect-error: subscribe keeps subscriptions up
  await made.request("workspaced/subscribe", {});
}

test("without a daemon connecting says so", async () => {
  const error = await failure(client({ socket: `${directory()}/none` }));
  assert.ok(error instanceof NoDaemon);
  assert.equal(error.code, "NO_DAEMON");
  assert.match(error.hint, /workspaced start DIR/);
});

test("a name the daemon would refuse is refused at once", async () => {
  assert.ok((await failure(client({ name: "x".repeat(65) }))) instanceof InvalidArgument);
});

test("what was published is in the state and in the tools' answers", async () => {
  const made = await daemon.client({ name: "editor" });
  assert.equal(made.server?.workspace, "default");
  const [receipt] = await made.publish([lookedAt("a.md")]);
  assert.equal(receipt?.duplicate, false);
  const state = await made.state();
  assert.equal(state.activeNote?.id, "a.md");
  assert.ok(receipt && state.seq >= receipt.seq);
  const answer = await made.call("get_current_note", { includeLinks: true });
  assert.equal(answer.data?.id, "a.md");
  assert.notDeepEqual(await made.state({ at: 0 }), state);
  const { events } = await made.request("workspaced/log", { from: receipt.seq, limit: 1 });
  assert.equal(events[0]?.source, "editor");
});

test("what an answer leaves out because it is the default is there", async () => {
  const made = await daemon.client({ name: "editor" });
  await made.publish([lookedAt("a.md")]);
  const { data } = await made.call("get_workspace_context");
  assert.deepEqual([data?.omitted, data?.omittedTotal, data?.vaultInfo.indexState], [[], 0, "ready"]);
  const { activeNote } = data ?? {};
  assert.deepEqual([activeNote?.type, activeNote?.exists, activeNote?.archived], ["note", true, false]);
  assert.deepEqual(activeNote?.metadata?.customFields, {});
  assert.ok(data?.recentNotes.every((each) => each.exists));
});

test("what a tool cannot do is an answer with a code", async () => {
  const made = await daemon.client();
  const answer = await made.call("get_note_by_reference", { reference: "no such note" });
  assert.equal(answer.success, false);
  assert.equal(answer.code, "NOTE_NOT_FOUND");
});

test("a refusal has a code, a hint and its details, and the connection goes on", async () => {
  const made = await daemon.client();
  const error = await failure(made.publish([lookedAt("a.md"), lookedAt("../x.md")]));
  assert.ok(error instanceof RemoteError);
  assert.equal(error.code, "OUTSIDE_VAULT");
  assert.deepEqual(error.details, { index: 1 });
  assert.ok(error.hint);
  assert.ok(await made.state());
});

test("an action published again with its id is one event", async () => {
  const made = await daemon.client();
  const action = { ...lookedAt("b.md"), id: newId() };
  const [first] = await made.publish([action]);
  const [second] = await made.publish([action]);
  assert.deepEqual(second, { ...first, duplicate: true });
  assert.match(action.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a request is as long as the daemon takes it, and one that is longer is not sent", async () => {
  const made = await daemon.client();
  const selection = (chars: number): Action => ({
    type: "selection_changed",
    data: { note: "a.md", startLine: 1, endLine: 1, text: "x".repeat(chars) },
  });
  const limit = made.server?.limits.requestBytes ?? 0;
  const over = await failure(made.publish([selection(limit)]));
  assert.equal(over.code, "LINE_TOO_LARGE");
  const length = Number(/is (\d+) bytes/.exec(over.message)?.[1]);
  // As long as can be: this one arrives, and is refused for what it says.
  const refused = await failure(made.publish([selection(limit - (length - limit))]));
  assert.ok(refused instanceof RemoteError && refused.code === "INVALID_ARGUMENT", refused.message);
  assert.ok(await made.state());
});

test("half a character, as selections may end with, does not break the connection", async () => {
  const made = await daemon.client();
  const text = `${"📝".slice(0, 1)} and a literal \\ud83d`;
  const data = { note: "a.md", startLine: 1, endLine: 1, text };
  await made.publish([lookedAt("a.md"), { type: "selection_changed", data }]);
  assert.equal((await made.state()).selection?.text, "\ufffd and a literal \\ud83d");
});

test("a hundred publishes at once share a connection and keep their order", async () => {
  const made = await daemon.client();
  const sent = Array.from({ length: 100 }, (_, number) => made.publish([lookedAt(`n${number}.md`)]));
  const sequences = (await Promise.all(sent)).map(([receipt]) => receipt?.seq ?? 0);
  assert.equal(new Set(sequences).size, 100);
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
});

test("an answer that does not come is a timeout, and the client lives on", async () => {
  const made = await daemon.client({ timeoutMs: 100 });
  assert.ok((await failure(made.state({ minSeq: 1e9 }))) instanceof TimedOut);
  assert.ok(await made.state());
});

test("a full queue refuses what comes next, and takes it again when there is room", async () => {
  const fake = await Fake.start({ "workspaced/status": ({ params }) => ("x" in params ? { ok: true } : SILENCE) });
  const made = await client({ socket: fake.socket, queuedRequestsMax: 2, timeoutMs: 200 });
  const held = [made.request("workspaced/status"), made.request("workspaced/status")].map(failure);
  const error = await failure(made.publish([lookedAt("a.md")]));
  assert.ok(error instanceof QueueFull);
  assert.equal(error.code, "QUEUE_FULL");
  assert.ok(error.hint);
  await Promise.all(held);
  assert.ok(await made.request("workspaced/reconcile"));
});

test("the queue is bounded in bytes, too", async () => {
  const fake = await Fake.start({ "workspaced/publish": () => SILENCE });
  const made = await client({ socket: fake.socket, queuedBytesMax: 1_000, timeoutMs: 200 });
  const held = failure(made.publish([lookedAt(`${"a".repeat(900)}.md`)]));
  assert.ok((await failure(made.publish([lookedAt("b.md")]))) instanceof QueueFull);
  await held;
});

test("a busy daemon says when to come back", async () => {
  const fake = await Fake.start({
    "workspaced/publish": () => {
      throw wireError("BUSY", { retryAfterMs: 70 });
    },
  });
  const made = await client({ socket: fake.socket });
  const error = await failure(made.publish([lookedAt("a.md")]));
  assert.equal(error.code, "BUSY");
  assert.equal(error.retryAfterMs, 70);
});

test("what is under way is finished before the client closes, and nothing is taken after", async () => {
  const states: string[] = [];
  const made = await daemon.client({ name: "closing", onConnection: (state) => states.push(state) });
  const published = made.publish([lookedAt("c.md")]);
  const shown = made.show({ active: "b.md" });
  await made.close();
  assert.equal((await published).length, 1);
  assert.equal((await shown).length, 2);
  assert.equal((await failure(made.state())).code, "CLOSED");
  assert.equal((await failure(made.show({ active: null }))).code, "CLOSED");
  assert.equal((await failure(made.subscribe())).code, "CLOSED");
  await made.close();
  assert.deepEqual(states, ["connected", "closed"]);
});

test("what the daemon does not answer fails when the client closes", async () => {
  const fake = await Fake.start({ "workspaced/publish": () => SILENCE });
  const made = await client({ socket: fake.socket });
  const published = failure(made.publish([lookedAt("a.md")]));
  await made.close();
  assert.equal((await published).code, "CLOSED");
});
