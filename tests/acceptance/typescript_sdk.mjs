// The official TypeScript SDK's client against a daemon: `typescript_sdk.mjs MODULES MODE PUBLISH -- COMMAND...`.
//
// MODULES is the folder the SDK is installed in; MODE `legacy`, `auto` or a version; PUBLISH is a JSON list: the
// command that publishes an action, without its last arguments.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, mode, publish, dashes, command, ...args] = process.argv.slice(2);
assert.equal(dashes, "--");
const require = createRequire(pathToFileURL(`${modules}/`));
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const CONTEXT = "workspace://context";
const CURRENT = "workspace://note/current";

const openNote = (note) => {
  const [program, ...first] = JSON.parse(publish);
  execFileSync(program, [...first, "active_note_set", `note=${note}`], { stdio: ["ignore", "ignore", "inherit"] });
};
const wanted = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
const client = new Client({ name: "acceptance", version: "1" }, { versionNegotiation: { mode: wanted } });
const heard = [];
let hear = () => {};
client.setNotificationHandler("notifications/resources/updated", (notification) => {
  heard.push(notification.params.uri);
  hear();
});
const toldOf = async (...uris) => {
  while (!uris.every((uri) => heard.includes(uri))) await new Promise((resolve) => (hear = resolve));
};
const readJson = async (uri) => JSON.parse((await client.readResource({ uri })).contents[0].text);

await client.connect(new StdioClientTransport({ command, args }));
openNote("a.md");

const { tools } = await client.listTools();
assert.equal(tools.length, 9);
for (const tool of tools) {
  assert.equal(tool.annotations.readOnlyHint, true);
  const needed = { get_note_by_reference: { reference: "Plan" }, search_workspace: { query: "note" }, get_note_diff: { reference: "a.md", sinceSeq: 0 } }[tool.name];
  const result = await client.callTool({ name: tool.name, arguments: needed ?? {} });
  // Nothing was recorded yet for these.
  const ofThePast = ["get_note_diff", "get_context_manifest"].includes(tool.name);
  assert.equal(result.isError ?? false, ofThePast, tool.name);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
}
const wrong = await client.callTool({ name: "get_current_note", arguments: { offset: -1 } });
assert.equal(wrong.structuredContent.code, "INVALID_ARGUMENT");
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });

assert.deepEqual((await client.listResources()).resources.map((each) => each.uri), [CONTEXT, CURRENT]);
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
for (const uri of [CONTEXT, CURRENT, "workspace://note/work/plan.md"]) assert.ok((await readJson(uri)).success);
await assert.rejects(client.readResource({ uri: "workspace://note/none" }));

if (mode === "legacy") {
  await client.subscribeResource({ uri: CURRENT });
  openNote("b.md");
  await toldOf(CURRENT);
  await client.unsubscribeResource({ uri: CURRENT });
  await client.ping();
} else {
  const subscription = await client.listen({ resourceSubscriptions: [CURRENT, CONTEXT] });
  assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [CURRENT, CONTEXT]);
  openNote("b.md");
  await toldOf(CURRENT, CONTEXT);
  await subscription.close();
}
assert.match((await readJson(CURRENT)).data.content, /# Beta/);

const given = AbortSignal.timeout(200);
const waiting = { name: "get_workspace_context", arguments: { minSeq: 10 ** 9 } };
await assert.rejects(client.callTool(waiting, { signal: given }));
assert.ok(!(await client.callTool({ name: "get_workspace_context", arguments: {} })).isError);
await client.close();
