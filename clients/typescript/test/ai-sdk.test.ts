/** The AI SDK with its own providers: what reaches the model, and what does not reach the app. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { cleanUp, Daemon } from "./harness.js";
import { ModelServer, RUNTIMES, runtime } from "./models.js";

let daemon: Daemon;
let server: ModelServer;
before(async () => {
  [daemon, server] = await Promise.all([Daemon.start(), ModelServer.start()]);
  await (await daemon.client()).publish([{ type: "active_note_set", data: { note: "a.md" } }]);
});
after(async () => {
  await server.stop();
  await cleanUp();
});

for (const name of RUNTIMES) {
  test(`${name}: the model is shown the note that the user looks at`, async () => {
    const { sdk, model } = runtime(name, server, await daemon.client({ name: "one-turn" }));
    const { text } = await sdk.generateText({ model, prompt: "What is Alpha about?" });
    assert.match(text, /Alpha/);
    assert.match(JSON.stringify(server.take()), /<active_note>.*# Alpha.*What is Alpha about\?/);
  });
}
