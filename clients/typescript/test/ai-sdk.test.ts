/** The AI SDK with its own providers, before a real daemon: what reaches the model, and what does not reach the app. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { ModelMessage } from "ai";
import { z } from "zod";

import { cleanUp, Daemon } from "./harness.js";
import { ModelServer, type Runtime, RUNTIMES, runtime } from "./models.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const OURS = String.raw`<workspace as-of=(?:[^"\\]|\\.)*?<\/workspace>`;
const INSERTED = new RegExp(String.raw`\{(?:"type":"(?:input_)?text",)?"text":"${OURS}"\},|(?<=")${OURS}\\n\\n`, "g");

let daemon: Daemon;
let server: ModelServer;
before(async () => {
  [daemon, server] = await Promise.all([Daemon.start(), ModelServer.start()]);
});
after(async () => {
  await server.stop();
  await cleanUp();
});

async function lookAt(note: string): Promise<void> {
  await using publisher = await daemon.client();
  await publisher.publish([{ type: "active_note_set", data: { note } }]);
}

let chats = 0;

/** A runtime whose chats nobody else has. */
async function chat(name: string): Promise<Runtime> {
  chats += 1;
  return runtime(name, server, await daemon.client({ name: `chat-${chats}` }));
}

/** The bodies that reach the provider. */
async function sentFor(run: () => PromiseLike<unknown>): Promise<string[]> {
  server.take();
  await run();
  return server.take();
}

function told(sent: string | undefined): string[] {
  assert.ok(sent, "nothing was sent");
  return sent.match(INSERTED) ?? [];
}

/** The body as the app alone would have sent it. */
function without(sent: string): string {
  return sent.replaceAll(INSERTED, "");
}

/** Its messages begin with those of the one before: the provider's cache serves them. */
function assertBegins(later: string | undefined, earlier: string | undefined): void {
  const [all, first] = [later, earlier].map((sent) => {
    const body = JSON.parse(sent ?? "{}");
    return JSON.parse(JSON.stringify(body.messages ?? body.input)) as unknown[];
  }) as [unknown[], unknown[]];
  assert.deepEqual(all.slice(0, first.length), first);
  assert.ok(all.length > first.length);
}

function user(content: string): ModelMessage {
  return { role: "user", content };
}

for (const name of RUNTIMES) {
  test(`${name}: the model is told what the user looks at, and the app's messages are not changed`, async () => {
    const { sdk, model, plain } = await chat(name);
    await lookAt("a.md");
    const given = [user("What is Alpha about?")];
    const [own] = await sentFor(() => sdk.generateText({ model: plain, messages: given }));
    const made = await sdk.generateText({ model, messages: given });
    const [sent] = server.take();
    assert.match(told(sent).join(), /looking at: a\.md/);
    assert.equal(without(sent ?? ""), own);
    assert.ok(!JSON.stringify([given, made.response.messages]).includes("<workspace"));
  });

  test(`${name}: a chat keeps what it was told at its place, streamed or not, and is told what is new`, async () => {
    const { sdk, model } = await chat(name);
    await lookAt("a.md");
    server.take();
    const history = [user("What is Alpha about?")];
    const streamed = sdk.streamText({ model, messages: history });
    for await (const _ of streamed.textStream); // all of it
    history.push(...(await streamed.response).messages, user("And what is linked there?"));
    history.push(...(await sdk.generateText({ model, messages: history })).response.messages, user("And now?"));
    await lookAt("b.md");
    await sdk.generateText({ model, messages: history });
    const [one, two, three] = server.take();
    assert.deepEqual([one, two, three].map((sent) => told(sent).length), [1, 1, 2]);
    assertBegins(two, one);
    assertBegins(three, two);
    assert.match(told(three)[1] ?? "", /looking at: b\.md/);
  });

  test(`${name}: each step of an agent with tools begins with the messages of the step before`, async () => {
    const { sdk, model } = await chat(name);
    const search_workspace = sdk.tool({
      description: "Finds notes.",
      inputSchema: z.object({ query: z.string() }),
      execute: ({ query }) => ({ found: [`${query} is in b.md`] }),
    });
    const history = [user("Please look for Beta.")];
    const options = { model, messages: history, tools: { search_workspace }, stopWhen: sdk.stepCountIs(3) };
    const [one, two, ...rest] = await sentFor(() => sdk.generateText(options));
    assert.deepEqual(rest, []);
    assertBegins(two, one);
    assert.deepEqual([told(one).length, told(two).length], [1, 1]);
  });

  test(`${name}: whatever a message holds reaches the model unchanged`, async () => {
    const { sdk, model, plain } = await chat(name);
    const image = { type: "file", data: PIXEL, mediaType: "image/png" } as const;
    const given: ModelMessage[] = [
      { role: "user", content: [{ type: "text", text: " Two texts," }, { type: "text", text: "and a space " }] },
      { role: "assistant", content: [{ type: "text", text: "  So. " }] },
      { role: "user", content: [image, { type: "text", text: "What is Alpha about? ü 🌲" }] },
    ];
    const refused = (): void => {}; // not every provider takes it
    const ask = (which: Runtime["model"]) => () =>
      sdk.generateText({ model: which, messages: given, maxRetries: 0 }).then(refused, refused);
    const [own] = await sentFor(ask(plain));
    const [sent] = await sentFor(ask(model));
    assert.equal(told(sent).length, 1);
    assert.equal(without(sent ?? ""), own);
  });
}

test("the daemon records what left and what the provider counted", async () => {
  const { sdk, model } = await chat("ai 7, openai");
  const asking = await daemon.client();
  const types = ["prompt_overlaid", "prompt_answered"] as never[];
  const counts = async (): Promise<number> => (await asking.request("workspaced/log", { types })).events.length;
  const before = await counts();
  await sdk.generateText({ model, prompt: "What is Alpha about?" });
  while ((await counts()) < before + 2) await new Promise((resolve) => setTimeout(resolve, 10));
});
