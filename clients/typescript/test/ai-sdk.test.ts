/** The AI SDK with its own providers: what reaches the model, and what does not reach the app. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { ModelMessage } from "ai";
import { z } from "zod";

import type { WorkspacedError } from "workspaced-client";
import { contextMiddleware, type ContextOptions, type Message, type Part } from "workspaced-client/ai-sdk";

import { cleanUp, client, Daemon, deferred, Fake, SILENCE, wireError } from "./harness.js";
import { ModelServer, type Runtime, RUNTIMES, runtime, type Sent } from "./models.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CONTEXT = "<active_note>";
const BEFORE_WORDS = /<active_note>(?:(?!<active_note>).)*?\[User query\]:\n\n/gs;

let daemon: Daemon;
let server: ModelServer;
before(async () => {
  [daemon, server] = await Promise.all([Daemon.start(), ModelServer.start()]);
  await lookAt("a.md");
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

/** A runtime whose conversations nobody else has. */
async function chat(name: string, options: ContextOptions = {}): Promise<Runtime> {
  chats += 1;
  return runtime(name, server, await daemon.client({ name: `chat-${chats}` }), options);
}

/** The messages of a request, without marks for the provider's cache. */
function messages(sent: Sent | undefined): unknown[] {
  assert.ok(sent, "nothing was sent");
  const all = [sent["system"] ?? [], ...(sent["messages"] ?? sent["input"])];
  return JSON.parse(JSON.stringify(all, (key, value) => (key === "cache_control" ? undefined : value)));
}

/** What reaches the provider; it may refuse it. */
async function sentFor(run: () => PromiseLike<unknown>): Promise<unknown[]> {
  server.take();
  await run().then(null, () => {});
  const taken = server.take();
  assert.equal(taken.length, 1);
  return messages(taken[0]);
}

function assertBegins(later: unknown[], earlier: unknown[]): void {
  assert.deepEqual(later.slice(0, earlier.length), earlier);
  assert.ok(later.length > earlier.length);
}

/** The texts without context of ours: what the app alone would have sent. */
function withoutContext(sent: unknown[]): unknown {
  const replaced = (_: string, value: unknown): unknown =>
    typeof value === "string" ? value.replace(BEFORE_WORDS, "") : value;
  return JSON.parse(JSON.stringify(sent), replaced);
}

function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    Object.values(Object.freeze(value)).forEach(frozen);
  }
  return value;
}

function user(content: string): ModelMessage {
  return { role: "user", content };
}

function assistant(content: string): ModelMessage {
  return { role: "assistant", content };
}

for (const name of RUNTIMES) {
  test(`${name}: the model is shown the note that the user looks at, and the app's messages are not changed`, async () => {
    const { sdk, model } = await chat(name);
    const given = frozen([user("What is Alpha about?")]);
    const { text, response } = await sdk.generateText({ model, messages: given });
    assert.match(text, /Alpha/);
    assert.match(JSON.stringify(server.take()), /<active_note>.*# Alpha.*What is Alpha about\?/);
    assert.ok(!JSON.stringify([given, response.messages]).includes(CONTEXT));
  });

  test(`${name}: a second request begins with the messages of the first one`, async () => {
    const { sdk, model } = await chat(name);
    const system = "You help with notes.";
    const history = [user("What is Alpha about?")];
    server.take();
    const first = await sdk.generateText({ model, system, messages: history });
    history.push(...first.response.messages, user("And what is linked there?"));
    await sdk.generateText({ model, system, messages: history });
    const [one, two] = server.take().map(messages);
    assertBegins(two as unknown[], one as unknown[]);
    assert.equal(JSON.stringify(two).split(CONTEXT).length, 2);
  });

  test(`${name}: a streamed answer is one like another`, async () => {
    const { sdk, model } = await chat(name);
    server.take();
    const history = [user("What is Alpha about?")];
    const streamed = sdk.streamText({ model, messages: history });
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    assert.match(text, /Alpha/);
    history.push(...(await streamed.response).messages, user("And now?"));
    assert.match((await sdk.generateText({ model, messages: history })).text, /It says/);
    const [one, two] = server.take();
    assert.equal(one?.["stream"], true);
    assert.ok(JSON.stringify(one).includes(CONTEXT));
    assertBegins(messages(two), messages(one));
  });

  test(`${name}: each step of an agent with tools begins with the messages of the step before`, async () => {
    const { sdk, model } = await chat(name);
    server.take();
    const search_workspace = sdk.tool({
      description: "Finds notes.",
      inputSchema: z.object({ query: z.string() }),
      execute: ({ query }) => ({ found: [`${query} is in b.md`] }),
    });
    const history = [user("Please look for Beta.")];
    const stopWhen = sdk.stepCountIs(3);
    const answered = await sdk.generateText({ model, messages: history, tools: { search_workspace }, stopWhen });
    assert.match(answered.text, /Beta/);
    const made = answered.responseMessages ?? answered.response.messages; // of `ai` 7, and of 6
    assert.deepEqual(made.map(({ role }) => role), ["assistant", "tool", "assistant"]);
    history.push(...made, user("Is that all?"));
    await sdk.generateText({ model, messages: history, tools: { search_workspace } });
    const [one, two, three, ...rest] = server.take().map(messages);
    assert.deepEqual(rest, []);
    assertBegins(two as unknown[], one as unknown[]);
    assertBegins(three as unknown[], two as unknown[]);
  });

  test(`${name}: what the app sends reaches the model unchanged but for the context`, async () => {
    const { sdk, model, plain } = await chat(name);
    const given = frozen<ModelMessage[]>([
      { role: "user", content: [{ type: "text", text: " Two texts," }, { type: "text", text: "and a space " }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "sig" } } },
          { type: "text", text: "I look." },
          { type: "tool-call", toolCallId: "c1", toolName: "read", input: { b: 1, a: [null, 1.5, "ü"] } },
          { type: "tool-call", toolCallId: "c2", toolName: "read", input: {} },
          { type: "tool-call", toolCallId: "c3", toolName: "look", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "json", value: { x: [1] } } },
          { type: "tool-result", toolCallId: "c2", toolName: "read", output: { type: "error-text", value: "gone" } },
          { type: "tool-result", toolCallId: "c3", toolName: "look", output: { type: "text", value: "" } },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "  So. " }] },
      {
        role: "user",
        content: [
          { type: "file", data: PIXEL, mediaType: "image/png", providerOptions: { openai: { imageDetail: "low" } } },
          { type: "file", data: Buffer.from("%PDF-1.4 tiny"), mediaType: "application/pdf", filename: "a.pdf" },
          { type: "text", text: "What is Alpha about?" },
        ],
      },
    ]);
    const own = await sentFor(() => sdk.generateText({ model: plain, messages: given, maxRetries: 0 }));
    const sent = await sentFor(() => sdk.generateText({ model, messages: given, maxRetries: 0 }));
    assert.equal(JSON.stringify(sent).split(CONTEXT).length, 2);
    assert.deepEqual(withoutContext(sent), own);
  });

  test(`${name}: an image alone gets context, and so does one in bytes`, async () => {
    const { sdk, model } = await chat(name);
    const image = { type: "file", data: Buffer.from(PIXEL, "base64"), mediaType: "image/png" } as const;
    const one = await sentFor(() => sdk.generateText({ model, messages: [{ role: "user", content: [image] }] }));
    assert.match(JSON.stringify(one), new RegExp(`# Alpha.*${PIXEL.replaceAll("+", "\\+")}`));
    const history: ModelMessage[] = [{ role: "user", content: [image] }, assistant("A dot."), user("Sure?")];
    assertBegins(await sentFor(() => sdk.generateText({ model, messages: history })), one);
  });

  test(`${name}: an answer made anew is asked for with the same bytes, and an edit goes on in a branch`, async () => {
    const { sdk, model } = await chat(name);
    const history = [user("What is Alpha about?"), assistant("Letters."), user("Really?")];
    const begin = await sentFor(() => sdk.generateText({ model, messages: history.slice(0, 1) }));
    const first = await sentFor(() => sdk.generateText({ model, messages: history }));
    assert.deepEqual(await sentFor(() => sdk.generateText({ model, messages: history })), first);
    const edited = [...history.slice(0, 2), user("Why?")];
    const branch = await sentFor(() => sdk.generateText({ model, messages: edited }));
    assertBegins(branch, begin);
    assert.ok(!JSON.stringify(branch).includes("Really?"));
  });

  test(`${name}: of two chats that begin alike each keeps its own note`, async () => {
    const { sdk, model } = await chat(name);
    const question = user("What does it say?");
    const ask = (history: ModelMessage[]): Promise<unknown[]> => sentFor(() => sdk.generateText({ model, messages: history }));
    const one = await ask([question]);
    await lookAt("b.md");
    const two = await ask([question]);
    await lookAt("a.md");
    assert.ok(JSON.stringify(one).includes("# Alpha") && JSON.stringify(two).includes("# Beta"));
    assertBegins(await ask([question, assistant("Beta it is."), user("Sure?")]), two);
  });

  test(`${name}: beyond the window the oldest turns are left out, and their note goes behind the system prompt`, async () => {
    const { sdk, model } = await chat(name, { contextWindow: 3_000 });
    const system = "You help with notes.";
    const history: ModelMessage[] = [];
    let sent: unknown[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      history.push(user(`Question ${turn}? ${"word ".repeat(400)}`));
      sent = await sentFor(() => sdk.generateText({ model, system, messages: history, maxOutputTokens: 100 }));
      assert.match(JSON.stringify(sent), new RegExp(`You help with notes\\..*Question ${turn}\\?`));
      history.push(assistant(`Answer ${turn}.`));
    }
    const all = JSON.stringify(sent);
    assert.doesNotMatch(all, /Question 0\?|Answer 0\./);
    assert.match(all, /You help with notes\..*## Context Library.*# Alpha.*Question/);
  });
}

/** A prompt as providers get it, of version 4; the daemon changes nothing but its last message. */
const ODD: readonly Message[] = frozen([
  { role: "system", content: "Be brief." },
  { role: "system", content: " And kind. ", providerOptions: { any: { thing: 1 } } },
  { role: "user", content: [text(" \n "), text("half \ud83d of a pair")] },
  { role: "assistant", content: [{ type: "reasoning", text: "Only this.", providerOptions: { any: {} } }] },
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "s", toolName: "web", input: {}, providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "web", output: { type: "json", value: [1] } },
      { type: "custom", kind: "any.thing" },
      { type: "file", mediaType: "image/png", data: { type: "data", data: PIXEL } },
      text("Found.", { any: { thing: 2 } }),
      { type: "tool-call", toolCallId: "odd id ü", toolName: "look", input: { deep: [{ x: undefined }] } },
      { type: "tool-call", toolCallId: "no", toolName: "look", input: {} },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-approval-response", approvalId: "1", approved: true },
      {
        type: "tool-result",
        toolCallId: "odd id ü",
        toolName: "look",
        output: {
          type: "content",
          value: [text("seen"), { type: "file", mediaType: "image/png", data: { type: "data", data: PIXEL } }],
        },
      },
      { type: "tool-result", toolCallId: "no", toolName: "look", output: { type: "execution-denied" } },
      { type: "tool-result", toolCallId: "s", toolName: "web", output: { type: "text", value: "late" } },
    ],
  },
  { role: "user", content: [text("one")] },
  {
    role: "user",
    content: [
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/a.png") } },
      { type: "file", mediaType: "application/pdf", data: { type: "reference", reference: { any: "1" } } },
      { type: "file", mediaType: "text/plain", data: { type: "text", text: "inline" }, filename: "a.txt" },
      text("two", { any: { thing: 3 } }),
      text("three"),
    ],
  },
]);

/** A picture of its own for each number. */
function image(number: number): Part & { data: string } {
  const data = Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.from(`picture ${number}`)]).toString("base64");
  return { type: "file", mediaType: "image/png", data } as Part & { data: string };
}

const ANY_MODEL = { provider: "any", modelId: "any" };

function text(words: string, providerOptions?: Record<string, object>): Part {
  return { type: "text", text: words, ...(providerOptions ? { providerOptions } : {}) } as Part;
}

async function placed(name: string, prompt: readonly Message[], options: ContextOptions = {}): Promise<readonly Message[]> {
  const onError = (error: WorkspacedError): never => assert.fail(`${error.code}: ${error.message}`);
  const asking = await daemon.client({ name });
  const middleware = contextMiddleware(asking, { onError, ...options });
  return (await middleware.transformParams({ params: { prompt }, model: ANY_MODEL })).prompt;
}

test("what the daemon does not change stays the same object, whatever it is", async () => {
  const [last, ...changed] = (await placed("odd", ODD)).toReversed();
  assert.deepEqual(changed.map((message) => ODD.indexOf(message)), [6, 5, 4, 3, 2, 1, 0]);
  const content = last?.content as readonly (Part & { text: string })[];
  const { content: own } = ODD.at(-1) as { content: readonly Part[] };
  assert.deepEqual(content.map((part, at) => part === own[at]), [true, true, true, false, true]);
  assert.match(content[3]?.text ?? "", /<active_note>.*# Alpha.*two$/s);
  assert.deepEqual(content[3]?.providerOptions, { any: { thing: 3 } });
});

test("a prompt that begins with an answer has a message of the user before it", async () => {
  const prompt: Message[] = [{ role: "assistant", content: [text("Hello.")] }, { role: "user", content: [text("Hi.")] }];
  const [begin, hello, hi] = await placed("begins", prompt);
  assert.equal(begin?.role, "user");
  assert.equal(hello, prompt[0]);
  assert.match(JSON.stringify(hi), /# Alpha.*Hi\./);
});

test("what the daemon cannot hold is recorded by its name", async () => {
  await placed("odd-record", ODD);
  const asking = await daemon.client({ name: "odd-record" });
  const { events } = await asking.request("workspaced/log", { types: ["conversation_started"] });
  const { conversation } = events.at(-1)?.data as { conversation: string };
  const { text: record } = await asking.context.export(conversation);
  for (const named of [/tool-call web/, /custom/, /https:\/\/example\.org\/a\.png/, /application\/pdf/, /a\.txt, text\/plain/]) {
    assert.match(record, named);
  }
  assert.doesNotMatch(record, /Only this\./);
});

test("results of earlier turns are shortened, and the rest of their message is kept", async () => {
  const prompt: Message[] = [];
  let changed: readonly Message[] = [];
  for (let turn = 0; turn < 6 && changed.length === 0; turn += 1) {
    prompt.push({ role: "user", content: [text(`Question ${turn}?`)] });
    const sent = await placed("shortened", prompt, { contextWindow: 3_000 });
    changed = sent.filter((message) => message.role === "tool" && !prompt.includes(message));
    const call = { toolCallId: `c${turn}`, toolName: "look", providerOptions: { any: { turn } } };
    const output = { type: "text", value: "long ".repeat(600) };
    prompt.push({ role: "assistant", content: [{ type: "tool-call", ...call, input: {} } as Part] });
    prompt.push({ role: "tool", content: [{ type: "tool-result", ...call, output } as Part] });
    prompt.push({ role: "assistant", content: [text("So.")] });
  }
  const own = prompt.find(({ role }) => role === "tool") as Message;
  const [part] = changed[0]?.content as readonly (Part & { output: { value: string } })[];
  assert.match(part?.output.value ?? "", /^\[tool result elided/);
  assert.deepEqual({ ...part, output: null }, { ...(own.content[0] as Part), output: null });
});

for (const words of [[text("Look.")], []]) {
  test(`images of earlier turns ${words.length > 0 ? "beside words " : ""}are left out over the budget, which the model is told`, async () => {
    const prompt: Message[] = [];
    let sent: readonly Message[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const images = [2 * turn, 2 * turn + 1].map((data) => image(data));
      prompt.push({ role: "user", content: [...images, ...words] });
      sent = await placed(`images-${words.length}`, prompt, { contextWindow: 16_000 });
      assert.ok([2 * turn, 2 * turn + 1].every((data) => JSON.stringify(sent.at(-1)).includes(image(data).data)));
      prompt.push({ role: "assistant", content: [text(`Dots ${turn}.`)] });
    }
    const [first] = sent;
    assert.match(JSON.stringify(first), /\[Left out: image 1\].*\[Left out: image 2\]/s);
    assert.ok(!JSON.stringify(first).includes(`"file"`));
    assert.ok(prompt.filter(({ role }) => role === "assistant").slice(0, -1).every((message) => sent.includes(message)));
  });
}

test("an image that stands above is not sent again, which the model is told", async () => {
  const prompt: Message[] = [{ role: "user", content: [image(1), text("Look.")] }, { role: "assistant", content: [text("So.")] }];
  await placed("again", prompt.slice(0, 1));
  const again: Message = { role: "user", content: [image(1), image(2), text("Again.")] };
  const [first, , last] = await placed("again", [...prompt, again]);
  assert.equal((first?.content as readonly Part[])[0], prompt[0]?.content[0]);
  assert.match(JSON.stringify(last), /image 1 \(above\).*Again\./);
  assert.deepEqual((last?.content as readonly Part[]).map((part) => again.content.includes(part as never)), [true, false]);
});

test("turns of the same image alone go with it, and none comes back", async () => {
  const prompt: Message[] = [];
  let sent: readonly Message[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    prompt.push({ role: "user", content: [image(1), image(2)] });
    sent = await placed("image-turns", prompt, { contextWindow: 9_000 });
    prompt.push({ role: "assistant", content: [text(`Dots ${turn}.`)] });
  }
  assert.equal(JSON.stringify(sent).split(PIXEL.slice(0, 40)).length, 3);
  assert.ok(sent.length < prompt.length - 1);
  assert.ok(prompt.filter(({ role }) => role === "assistant").slice(0, -1).every((message) => sent.includes(message)));
});

const [NAME] = RUNTIMES as [string];

test("the app attaches something else, or nothing", async () => {
  const { sdk, model } = await chat(NAME);
  const ask = (attachments: object[]): Promise<unknown[]> => {
    const providerOptions = { workspaced: { attachments } } as never;
    return sentFor(() => sdk.generateText({ model, prompt: "What is it?", providerOptions }));
  };
  assert.match(JSON.stringify(await ask([{ kind: "note", id: "b.md" }])), /# Beta.*What is it\?/);
  assert.match(JSON.stringify(await ask([])), /"What is it\?"/);
});

test("messages too long for one line get context", async () => {
  const { sdk, model } = await chat(NAME, { contextWindow: 2_000_000 });
  const prompt = `${"long ".repeat(300_000)} What is Alpha about?`;
  assert.ok(JSON.stringify(await sentFor(() => sdk.generateText({ model, prompt }))).includes("# Alpha"));
});

test("Anthropic's cache is marked, but not beside marks of the app", async () => {
  const { sdk, model } = await chat("ai 7, anthropic");
  const marks = (): number => JSON.stringify(server.take()).split("cache_control").length - 1;
  const system = "You help with notes.";
  server.take();
  await sdk.generateText({ model, system, prompt: "What is Alpha about?" });
  assert.equal(marks(), 2);
  const anthropic = { cacheControl: { type: "ephemeral" } } as const;
  const marked = { role: "user", content: "What is Alpha?", providerOptions: { anthropic } } as const;
  await sdk.generateText({ model, system, messages: [marked] });
  assert.equal(marks(), 1);
});

test("a prompt that ends with an answer is left as it is", async () => {
  const { sdk, model, plain } = await chat(NAME);
  const given = [user("What is Alpha about?"), assistant("It is")];
  const own = await sentFor(() => sdk.generateText({ model: plain, messages: given, maxRetries: 0 }));
  assert.deepEqual(await sentFor(() => sdk.generateText({ model, messages: given, maxRetries: 0 })), own);
});

// -- a daemon that does not help --

/** A runtime before a daemon that plays a part; what it warned of. */
async function against(fake: Fake, options: ContextOptions = {}): Promise<Runtime & { readonly warned: string[] }> {
  const warned: string[] = [];
  const onError = ({ code, message }: WorkspacedError): void => void warned.push(`${code}: ${message}`);
  return { ...runtime(NAME, server, await client({ socket: fake.socket }), { onError, ...options }), warned };
}

const ALONE = [[], { role: "user", content: "Alpha?" }];

function ask({ sdk, model }: Runtime): Promise<unknown[]> {
  return sentFor(() => sdk.generateText({ model, prompt: "Alpha?" }));
}

test("without a daemon prompts go on as they are, with one warning", async () => {
  const gone = deferred<void>();
  const fake = await Fake.start();
  const warned: string[] = [];
  const onError = ({ code, hint }: WorkspacedError): void => void warned.push(`${code} ${hint}`);
  const onConnection = (state: string): void => void (state === "reconnecting" && gone.resolve());
  const lost = runtime(NAME, server, await client({ socket: fake.socket, onConnection }), { onError });
  fake.stop();
  await gone.promise;
  assert.deepEqual([await ask(lost), await ask(lost)], [ALONE, ALONE]);
  assert.deepEqual(warned, ["NO_DAEMON Start the daemon: `workspaced serve`."]);
});

test("a daemon that breaks off in the middle delays nobody", async () => {
  const fake = await Fake.start({ "workspaced/context/transform": ({ socket }) => (socket.destroy(), SILENCE) });
  const made = await against(fake);
  assert.deepEqual(await ask(made), ALONE);
  assert.match(made.warned.join(), /^NO_DAEMON: /);
});

test("a daemon that does not answer is asked once, then left alone for a while", async () => {
  const fake = await Fake.start({ "workspaced/context/transform": () => SILENCE });
  const made = await against(fake, { timeoutMs: 20 });
  assert.deepEqual([await ask(made), await ask(made)], [ALONE, ALONE]);
  assert.deepEqual(made.warned, ["TIMEOUT: The daemon did not answer within 20 ms."]);
  assert.equal(fake.params("workspaced/context/transform").length, 1);
  const again = await against(fake, { timeoutMs: 20, pauseMs: 0 });
  assert.deepEqual([await ask(again), await ask(again)], [ALONE, ALONE]);
  assert.equal(fake.params("workspaced/context/transform").length, 3);
});

test("a refusal is told once, until another reason comes or a prompt succeeds", async () => {
  const answer = { messages: [{ role: "user", content: [{ type: "text", text: "Alpha?" }] }], system: null };
  const parts = ["SHARING_OFF", "SHARING_OFF", "BUSY", "", "BUSY"];
  const fake = await Fake.start({
    "workspaced/context/transform": () => {
      const code = parts.shift();
      if (code) throw wireError(code);
      return answer;
    },
  });
  const made = await against(fake);
  for (const _ of [...parts]) assert.deepEqual(await ask(made), ALONE);
  assert.deepEqual(made.warned, ["SHARING_OFF: It is SHARING_OFF.", "BUSY: It is BUSY.", "BUSY: It is BUSY."]);
});

for (const [what, content] of Object.entries({
  "other words": [{ type: "text", text: "Beta?" }],
  "a call": [{ type: "tool_use", id: "c", name: "f", input: {} }],
  nothing: [],
})) {
  test(`an answer with ${what} in place of the prompt's is not believed`, async () => {
    const answer = { messages: [{ role: "user", content }], system: null };
    const made = await against(await Fake.start({ "workspaced/context/transform": () => answer }));
    assert.deepEqual(await ask(made), ALONE);
    assert.match(made.warned.join(), /^UNEXPECTED_ANSWER: /);
  });
}

test("an answer without the words of a message that it has the image of is not believed", async () => {
  const source = { type: "base64", media_type: "image/png", data: PIXEL };
  const answer = { messages: [{ role: "user", content: [{ type: "image", source }] }], system: null };
  const { sdk, model, warned } = await against(await Fake.start({ "workspaced/context/transform": () => answer }));
  const content = [{ type: "file", data: PIXEL, mediaType: "image/png" }, { type: "text", text: "Alpha?" }];
  const given = { role: "user", content };
  const sent = await sentFor(() => sdk.generateText({ model, messages: [given as ModelMessage] }));
  assert.match(JSON.stringify(sent), /Alpha\?/);
  assert.match(warned.join(), /^UNEXPECTED_ANSWER: /);
});

test("an answer that is none at all fails nothing", async () => {
  const made = await against(await Fake.start({ "workspaced/context/transform": () => ({}) }));
  assert.deepEqual(await ask(made), ALONE);
  assert.match(made.warned.join(), /^INTERNAL: /);
});

test("the process is warned where nobody asks to be told, and what is told may fail", async () => {
  const fake = await Fake.start({
    "workspaced/context/transform": () => {
      throw wireError("SHARING_OFF", { hint: "Ask the user." });
    },
  });
  const onError = (): never => {
    throw new Error("Oh.");
  };
  const warnings: Error[] = [];
  const collect = (warning: Error): void => void (warning.name === "WorkspacedWarning" && warnings.push(warning));
  process.on("warning", collect);
  assert.deepEqual(await ask(runtime(NAME, server, await client({ socket: fake.socket }))), ALONE);
  assert.deepEqual(await ask(await against(fake, { onError })), ALONE);
  process.off("warning", collect);
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ["SHARING_OFF: It is SHARING_OFF.", "INTERNAL: `onError` failed: Error: Oh."].map(
      (reason) => `A prompt goes on without context: ${reason}`,
    ),
  );
});

test("nobody is warned of a request that was given up", async () => {
  const asked = deferred<void>();
  const fake = await Fake.start({ "workspaced/context/transform": () => (asked.resolve(), SILENCE) });
  const { sdk, model, warned } = await against(fake);
  const giveUp = new AbortController();
  const answered = sdk.generateText({ model, prompt: "Alpha?", abortSignal: giveUp.signal });
  await asked.promise;
  giveUp.abort();
  await assert.rejects(async () => answered, { name: "AbortError" });
  assert.deepEqual(warned, []);
});
