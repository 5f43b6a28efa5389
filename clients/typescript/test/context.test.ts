/** Conversations over one connection: what is told, what comes back, and how it fails. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Client, type Prompt, RemoteError } from "workspaced-client";

import { cleanUp, Daemon, failure } from "./harness.js";

const SETTINGS = { provider: "openai", model: "any", contextWindow: 100_000, outputReserve: 1_000 };

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(cleanUp);

/** Only compiled: what the types must refuse. */
export async function refused({ context }: Client): Promise<void> {
  // @ts-expect-error: it needs a model
  await context.start({ provider: "openai", contextWindow: 1, outputReserve: 0 });
  // @ts-expect-error: there is no such role
  await context.message("c", { role: "nobody" });
  // @ts-expect-error: there is no such kind
  await context.pin({ conversation: "c", id: "p", kind: "clock" });
}

function sent(prompt: Prompt): string {
  return JSON.stringify(prompt.messages);
}

test("a conversation is told, and its prompts hold each note once", async () => {
  const { context } = await daemon.client();
  const chat = await context.start({ ...SETTINGS, system: "Be brief." });
  const attachments = [{ kind: "note", id: "a.md" }] as const;
  await context.message(chat, { id: "m1", role: "user", text: "One?", attachments });
  const first = await context.assemble(chat);
  assert.match(sent(first), /Be brief\..*# Alpha.*One\?/);
  assert.equal((await context.assemble(chat)).seq, first.seq);
  const report = { prompt_tokens: first.estimate, completion_tokens: 9 };
  await context.usage({ conversation: chat, report, shape: "openai" });

  await context.message(chat, { role: "assistant", text: "Two." });
  await context.pin({ conversation: chat, id: "rules", kind: "text", text: "Count on." });
  const id = await context.message(chat, { role: "user", text: "Three?", attachments });
  const second = await context.assemble(chat);
  assert.equal(second.messageId, id);
  assert.equal(sent(second).split("# Alpha").length, 2);
  assert.match(sent(second), /Count on\./);
  assert.equal((await context.assemble(chat, { layers: false })).layers[0]?.text, "");

  await context.unpin(chat, "rules");
  await context.summary({ conversation: chat, text: "Counting.", upTo: "m1" });
  await context.remove(chat, id, { following: true });
  assert.equal((await context.assemble(chat)).messages.at(-1)?.role, "assistant");
  await context.end(chat);
  assert.equal((await failure(context.assemble(chat))).code, "UNKNOWN_CONVERSATION");
});

test("what cannot be done has a code and says why", async () => {
  const { context } = await daemon.client();
  const chat = await context.start({ ...SETTINGS, contextWindow: 20, outputReserve: 10, system: "x".repeat(400) });
  assert.equal((await failure(context.assemble(chat))).code, "UNKNOWN_MESSAGE");
  await context.message(chat, { role: "user", text: "?" });
  const error = await failure(context.assemble(chat));
  assert.ok(error instanceof RemoteError && error.code === "BUDGET_EXCEEDED" && error.hint);
});

test("a prompt is given as its provider's body, and the provider's report is read", async () => {
  const { context } = await daemon.client();
  const chat = await context.start({ ...SETTINGS, system: "Be brief." });
  const attachments = [{ kind: "tool_result", id: "found", text: "It says so." }] as const;
  await context.message(chat, { role: "user", text: "One?", attachments });
  const made = await context.assemble(chat, { shape: "anthropic" });
  assert.deepEqual(made.messages, []);
  assert.match(JSON.stringify(made.body), /Be brief\..*It says so\..*One\?/);
  const usage = { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 1 };
  await context.usage({ conversation: chat, report: usage });
  assert.equal((await failure(context.assemble(chat, { shape: "none" }))).code, "UNKNOWN_SHAPE");
  await context.message(chat, { role: "assistant", text: "It does." });
  const alone = await context.assemble(chat, { pipeline: "compression" });
  assert.ok(alone.seq > made.seq && alone.body === undefined && alone.messages.length > 0);
});

test("a conversation goes out as a file", async () => {
  const { context } = await daemon.client();
  const chat = await context.start(SETTINGS);
  await context.message(chat, { role: "user", text: "One?", attachments: [{ kind: "note", id: "a.md" }] });
  const { text } = await context.export(chat);
  assert.match(text, /One\?/);
});

test("a long text is uploaded in parts that break no character, and a message names it", async () => {
  const { context } = await daemon.client();
  const chat = await context.start({ ...SETTINGS, contextWindow: 2_000_000 });
  const text = `${"x".repeat(128 * 1024 - 1)}🌲${"漢字 ".repeat(200_000)}`;
  const textSha256 = await context.upload(text);
  await context.message(chat, { role: "user", textSha256 });
  assert.ok(sent(await context.assemble(chat, { layers: false })).includes("🌲漢字"));
});
