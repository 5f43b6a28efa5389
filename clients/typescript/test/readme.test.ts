/** The README's examples run, and print what it says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { cleanUp, Daemon, directory } from "./harness.js";
import { ModelServer } from "./models.js";

const EXAMPLES = fileURLToPath(new URL("../readme", import.meta.url));
const names = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith(".txt"))
  .sort();

const home = directory();
let daemon: Daemon;
let server: ModelServer;
before(async () => {
  [daemon, server] = await Promise.all([Daemon.start({ home }), ModelServer.start()]);
});
after(async () => {
  await server.stop();
  await cleanUp();
});

test("the README has examples", () => {
  assert.ok(names.length >= 2);
});

for (const name of names) {
  test(`${name.replace(".txt", "")} of the README prints what it says`, async () => {
    const script = join(EXAMPLES, name.replace(".txt", ".js"));
    const { baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY } = server.settings;
    const models = { OPENAI_BASE_URL, OPENAI_API_KEY };
    const env = { ...process.env, ...models, HOME: home, WORKSPACED_SOCKET: "", WORKSPACED_WORKSPACE: "" };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { cwd: daemon.vault, env });
    assert.equal(stdout, readFileSync(join(EXAMPLES, name), "utf8"));
    assert.equal(stderr, "");
  });
}
