/** Pausing the workspace, and knowing whether it is. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Pause } from "workspaced-client";

import { cleanUp, Daemon } from "./harness.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

test("a pause is begun, seen by all clients, and ended", async () => {
  const told: (Pause | undefined)[] = [];
  let next: () => void = () => {};
  const following = await daemon.client({
    name: "following",
    onPaused: (paused) => {
      told.push(paused);
      next();
    },
  });
  const seen = async (count: number): Promise<void> => {
    while (told.length < count) await new Promise<void>((resolve) => (next = resolve));
  };
  const made = await daemon.client({ name: "editor" });
  assert.equal(made.paused, undefined);
  const paused = await made.pause({ forS: 3600 });
  assert.ok(paused?.until && paused.until > paused.since);
  assert.deepEqual(made.paused, paused);
  await seen(1);
  assert.deepEqual(told[0], paused);
  assert.deepEqual(await made.publish([{ type: "active_note_set", data: { note: "b.md" } }]), []);
  assert.equal((await made.call("get_current_note")).code, "PAUSED");
  await made.resume();
  assert.equal(made.paused, undefined);
  await seen(2);
  assert.equal(told[1], undefined);
  assert.equal(following.paused, undefined);
  assert.equal((await made.state()).activeNote?.id, "b.md");
});

test("a client that connects during a pause knows it", async () => {
  const made = await daemon.client();
  const paused = await made.pause();
  const other = await daemon.client();
  assert.deepEqual(other.paused, paused);
  await made.resume();
});
