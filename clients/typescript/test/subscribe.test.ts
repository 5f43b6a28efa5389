/** Subscriptions: everything, in its order, also for a reader that is slow. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Action, Notice, Subscription, WorkspacedError } from "workspaced-client";

import { cleanUp, client, Daemon, deferred, failure, Fake } from "./harness.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

function lookedAt(note: string): Action {
  return { type: "active_note_set", data: { note } };
}

/** The sequences of the events, up to `last`. */
async function sequences(subscription: Subscription, last: number): Promise<number[]> {
  const found: number[] = [];
  while ((found.at(-1) ?? 0) < last) {
    const { value } = await subscription.next();
    if (value?.kind === "events") found.push(...value.events.map((event) => event.seq));
  }
  return found;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

test("a subscription tells every event from now on, in its order", async () => {
  const made = await daemon.client();
  const subscription = await made.subscribe();
  const sent: number[] = [];
  for (const number of range(1, 20)) sent.push((await made.publish([lookedAt(`n${number}.md`)]))[0]?.seq ?? 0);
  assert.deepEqual(await sequences(subscription, sent[19] ?? 0), range(sent[0] ?? 0, sent[19] ?? 0));
  assert.equal(subscription.clock?.split(":")[1], String(sent[19]));
  subscription.close();
});

test("it is an iterator, which ends with the client", async () => {
  const made = await daemon.client();
  const subscription = await made.subscribe({ types: ["note_pinned"] });
  await made.publish([
    lookedAt("a.md"),
    { type: "note_pinned", data: { note: "p.md" } },
    { type: "note_unpinned", data: { note: "p.md" } },
  ]);
  const seen: string[] = [];
  for await (const notice of subscription) {
    if (notice.kind === "events") seen.push(...notice.events.map((event) => event.type));
    void made.close();
  }
  assert.deepEqual(seen, ["note_pinned"]);
});

test("leaving the loop ends it at the daemon", async () => {
  const fake = await Fake.start({
    "workspaced/subscribe": ({ socket }) => {
      setImmediate(() =>
        socket.write(
          `{"method":"workspaced/event","params":{"subscription":"s","events":[{"seq":1}],"clock":"log:1"}}\n`,
        ),
      );
      return { subscription: "s", clock: "log:0", freshInstance: false };
    },
  });
  const made = await client({ socket: fake.socket });
  for await (const _notice of await made.subscribe()) break;
  await made.request("workspaced/status");
  assert.deepEqual(fake.params("workspaced/unsubscribe"), [{ subscription: "s" }]);
});

test("a function is called for one notice after the other", async () => {
  const made = await daemon.client();
  const done = deferred<void>();
  const steps: string[] = [];
  const subscription = await made.subscribe({}, async (notice: Notice) => {
    const seq = notice.clock;
    steps.push(`begin ${seq}`);
    await new Promise(setImmediate);
    steps.push(`end ${seq}`);
    if (steps.length === 6) done.resolve();
  });
  for (const note of ["a.md", "b.md", "c.md"]) await made.publish([lookedAt(note)]);
  await done.promise;
  subscription.close();
  assert.deepEqual(
    steps.map((step) => step.split(" ")[0]),
    ["begin", "end", "begin", "end", "begin", "end"],
  );
});

test("a function that fails ends its subscription and is told", async () => {
  const told = deferred<WorkspacedError>();
  const made = await daemon.client({ onError: told.resolve });
  const subscription = await made.subscribe({}, () => {
    throw new Error("mine");
  });
  await made.publish([lookedAt("a.md")]);
  const error = await told.promise;
  assert.equal(error.code, "INTERNAL");
  assert.match(error.message, /mine/);
  assert.deepEqual(await subscription.next(), { done: true, value: undefined });
});

test("a clock resumes where it was left", async () => {
  const made = await daemon.client();
  const clock = made.server?.clock ?? "";
  const [first] = await made.publish([lookedAt("a.md")]);
  const [last] = await made.publish([lookedAt("b.md")]);
  const subscription = await made.subscribe({ since: clock, types: ["active_note_set"] });
  assert.equal(subscription.clock, clock);
  const seen = await sequences(subscription, last?.seq ?? 0);
  assert.ok(seen.includes(first?.seq ?? -1));
  subscription.close();
});

test("a clock of another log is told, and everything follows", async () => {
  const made = await daemon.client();
  const subscription = await made.subscribe({ since: "another:7" });
  assert.equal((await subscription.next()).value?.kind, "fresh");
  const { value } = await subscription.next();
  assert.ok(value?.kind === "events" && value.events[0]?.seq === 1);
  subscription.close();
});

test("a clock beyond the log is refused", async () => {
  const made = await daemon.client();
  assert.equal((await failure(made.subscribe({ since: 1e9 }))).code, "INVALID_ARGUMENT");
});

test("a reader that is slow loses nothing, and holds only so much", async () => {
  const made = await daemon.client();
  const since = (await made.state()).seq;
  const subscription = await made.subscribe({ queuedEventsMax: 4, types: ["active_note_set"] });
  const sent: number[] = [];
  for (const number of range(1, 40)) sent.push((await made.publish([lookedAt(`s${number}.md`)]))[0]?.seq ?? 0);
  assert.ok(subscription.isBehind);
  assert.deepEqual(
    await sequences(subscription, sent[39] ?? 0),
    sent.filter((seq) => seq > since),
  );
  assert.ok(!subscription.isBehind);
  subscription.close();
});

test("a reader that is too far behind is told of the gap", async () => {
  const made = await daemon.client();
  const first = (await made.state()).seq + 1;
  const batch = range(1, 1_000).map((number) => lookedAt(`g${number}.md`));
  for (const _ of range(1, 11)) await made.publish(batch); // all at once may be more than the daemon lets wait
  const last = (await made.state()).seq;
  const subscription = await made.subscribe({ since: first - 1 });
  const { value } = await subscription.next();
  assert.ok(value?.kind === "gap");
  assert.deepEqual([value.from, value.to], [first, last]);
  await made.publish([lookedAt("after.md")]);
  assert.deepEqual(await sequences(subscription, last + 1), [last + 1]);
  subscription.close();
});
