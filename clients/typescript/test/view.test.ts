/** `show`: a UI tells its whole view at every event, and the daemon hears only what differs. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { WorkspacedError } from "workspaced-client";

import { cleanUp, client, Daemon, deferred, failure, Fake, SILENCE, wireError } from "./harness.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

test("of the views of one turn only the last goes out", async () => {
  const made = await daemon.client({ name: "one-turn" });
  const before = (await made.state()).seq;
  const shown = ["a.md", null, "b.md", null, "c.md"].map((active) => made.show({ active }));
  const receipts = await Promise.all(shown);
  assert.equal(receipts[0]?.length, 2);
  assert.ok(
    receipts.every((each) => each === receipts[0]),
    "all were settled by the one that was sent",
  );
  const { events } = await made.request("workspaced/log", { from: before + 1 });
  assert.deepEqual(
    events.filter((event) => event.source === "one-turn").map((event) => [event.type, event.data]),
    [
      ["view_opened", {}],
      ["active_note_set", { note: "c.md" }],
    ],
  );
});

test("pins and tabs go with it, and only what differs is appended", async () => {
  const made = await daemon.client({ name: "tabs" });
  await made.show({ active: "a.md", pins: ["b.md"], tabs: [{ note: "c.md", source: "search" }] });
  const state = await made.state();
  assert.deepEqual(
    state.pinnedNotes.map((pin) => pin.id),
    ["b.md"],
  );
  assert.deepEqual(
    state.temporaryTabs.map((tab) => [tab.noteId, tab.source]),
    [["c.md", "search"]],
  );
  const receipts = await made.show({ active: "a.md", pins: ["b.md"] });
  assert.equal(receipts.length, 1, "the tab was closed");
  await made.show({ active: null });
});

test("the same view is not sent again, unless the user came back to it", async () => {
  const fake = await Fake.start({ "workspaced/snapshot": () => ({ events: [] }) });
  const made = await client({ socket: fake.socket });
  const view = { active: "a.md", pins: ["b.md"] };
  await made.show(view);
  assert.deepEqual(await made.show({ ...view, tabs: [] }), []);
  assert.equal(fake.params("workspaced/snapshot").length, 1);
  await made.show(view, { again: true });
  assert.equal(fake.params("workspaced/snapshot").length, 2);
});

test("a view is taken as it was when it was shown", async () => {
  const fake = await Fake.start({ "workspaced/snapshot": () => ({ events: [] }) });
  const made = await client({ socket: fake.socket });
  const pins = ["a.md"];
  const shown = made.show({ active: null, pins });
  pins.push("b.md");
  await shown;
  assert.deepEqual(fake.params("workspaced/snapshot")[0]?.["pins"], ["a.md"]);
});

test("while one view is on its way only the newest waits", async () => {
  const arrived = deferred<() => void>();
  const fake = await Fake.start({
    "workspaced/snapshot": ({ id, socket, params }) => {
      if (params["active"] !== "first.md") return { events: [] };
      arrived.resolve(() => socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { events: [] } })}\n`));
      return SILENCE;
    },
  });
  const made = await client({ socket: fake.socket });
  const first = made.show({ active: "first.md" });
  const answer = await arrived.promise;
  const later = ["second.md", "third.md"].map((active) => made.show({ active }));
  await made.request("workspaced/status"); // turns of the loop have passed
  answer();
  await Promise.all([first, ...later]);
  assert.deepEqual(
    fake.params("workspaced/snapshot").map((params) => params["active"]),
    ["first.md", "third.md"],
  );
});

test("every vault has a view of its own", async () => {
  const fake = await Fake.start({ "workspaced/snapshot": () => ({ events: [] }) });
  const made = await client({ socket: fake.socket });
  await Promise.all([made.show({ active: "a.md", vault: "v1" }), made.show({ active: "b.md", vault: "v2" })]);
  assert.deepEqual(
    fake.params("workspaced/snapshot").map((params) => params["vault"]),
    ["v1", "v2"],
  );
});

test("a view that is refused says why, and the next one is taken", async () => {
  const made = await daemon.client({ name: "refused" });
  const refused = made.show({ active: "../out.md" });
  assert.equal((await failure(refused)).code, "OUTSIDE_VAULT");
  await made.show({ active: "a.md" });
  assert.equal((await made.state()).activeNote?.id, "a.md");
});

test("a rejection nobody looks at is no unhandled one", async () => {
  const made = await daemon.client({ name: "careless" });
  void made.show({ active: "../out.md" });
  await made.state(); // an unhandled rejection would fail this test
  await new Promise(setImmediate);
});

test("a view that meets a busy daemon goes out again by itself", async () => {
  let times = 0;
  const fake = await Fake.start({
    "workspaced/snapshot": () => {
      times += 1;
      if (times === 1) throw wireError("BUSY", { retryAfterMs: 10 });
      return { events: [] };
    },
  });
  const made = await client({ socket: fake.socket });
  await made.show({ active: "a.md" });
  assert.equal(times, 2);
});

test("after a reconnection the view is shown again before what waits is asked", async () => {
  const fake = await Fake.start({ "workspaced/snapshot": () => ({ events: [] }) });
  const made = await client({ socket: fake.socket });
  await made.show({ active: "a.md" });
  fake.drop();
  await made.publish([{ type: "active_note_cleared" }]).catch(() => {});
  const again = fake.asked.filter((each) => each.connection === 2).map((each) => each.method.slice("workspaced/".length));
  assert.deepEqual(again.slice(0, 4), ["hello", "subscribe", "snapshot", "publish"]);
});

test("a refusal after a reconnection, for which nobody waits, is told", async () => {
  const told = deferred<WorkspacedError>();
  const fake = await Fake.start({
    "workspaced/snapshot": ({ connection }) => {
      if (connection === 2) throw wireError("LOG_READ_ONLY");
      return { events: [] };
    },
  });
  const made = await client({ socket: fake.socket, onError: told.resolve });
  await made.show({ active: "a.md" });
  fake.drop();
  assert.equal((await told.promise).code, "LOG_READ_ONLY");
  assert.deepEqual(await made.request("workspaced/status"), {});
});

test("a view that nobody took in time says so, and goes out when it can", async () => {
  const silent = { is: true };
  const fake = await Fake.start({ "workspaced/snapshot": () => (silent.is ? SILENCE : { events: [] }) });
  const made = await client({ socket: fake.socket, timeoutMs: 400 });
  assert.equal((await failure(made.show({ active: "a.md" }))).code, "TIMEOUT");
  silent.is = false;
  fake.drop();
  await made.show({ active: "a.md" });
  assert.equal(
    fake.asked.filter((each) => each.connection === 2 && each.method === "workspaced/snapshot").length,
    1,
  );
});
