/** What `overlayFetch` makes of requests and answers, before a daemon that only plays a part. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { overlayFetch, type OverlayOptions, type WorkspacedError } from "workspaced-client";

import { cleanUp, client, deferred, Fake, SILENCE, wireError } from "./harness.js";

const [OVERLAY, CONFIRM, FINISHED] = ["", "/confirm", "/finished"].map((end) => `workspaced/context/overlay${end}`) as [
  string,
  string,
  string,
];
const PATHS = {
  openai: "chat/completions",
  responses: "responses",
  anthropic: "messages",
  gemini: "models/m:streamGenerateContent?alt=sse",
} as const;
const HI = `{"messages":[{"role":"user","content":"hi"}],"n":1.10}`;
const TOLD = HI.replace("hi", "ours\\n\\nhi");

interface Vector {
  readonly form: keyof typeof PATHS;
  readonly body: string;
  /** Null: it cannot be read. */
  readonly params: { readonly turns: readonly { readonly key: string }[] } | null;
  readonly insertions?: readonly { readonly turn: string; readonly text: string }[];
  /** Null: it takes nothing. */
  readonly overlaid?: string | null;
}

const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL("../../../../tests/data/overlay/requests.json", import.meta.url), "utf8"),
);

interface Sent {
  readonly body: unknown;
  readonly headers: Headers;
}

/** An app before a daemon and a provider that play their parts. */
interface World {
  readonly fake: Fake;
  readonly warned: string[];
  readonly sent: Sent[];
  readonly post: (path: string, body: RequestInit["body"], init?: RequestInit) => Promise<Response>;
}

async function world(
  parts: Parameters<typeof Fake.start>[0] = {},
  options: Partial<OverlayOptions> = {},
  answer: () => Response = () => Response.json({}),
): Promise<World> {
  const fake = await Fake.start({ [OVERLAY]: ours, ...parts });
  const [warned, sent]: [string[], Sent[]] = [[], []];
  const provider: typeof fetch = async (_input, init) => {
    sent.push({ body: init?.body, headers: new Headers(init?.headers) });
    return answer();
  };
  const onError = ({ code, message }: WorkspacedError): void => void warned.push(`${code}: ${message}`);
  const made = overlayFetch({ client: await client({ socket: fake.socket }), fetch: provider, onError, ...options });
  const post: World["post"] = (path, body, init) =>
    made(`https://provider.test/v1/${path}`, { method: "POST", body: body ?? null, ...init });
  return { fake, warned, sent, post };
}

/** The daemon's part: a text before the first turn. */
function ours({ params }: { params: Record<string, unknown> }): unknown {
  const [first] = params["turns"] as [{ key: string }];
  return { insertions: [{ turn: first.key, text: "ours" }], token: "t", reason: null };
}

async function told(fake: Fake, method: string): Promise<Record<string, unknown>> {
  while (fake.params(method).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  return fake.params(method)[0] as Record<string, unknown>;
}

after(cleanUp);

// -- the same as Python's --

let answered: Vector;
let held: World;
before(async () => {
  held = await world({ [OVERLAY]: () => ({ insertions: answered.insertions, token: "t", reason: null }) });
});

for (const [number, vector] of VECTORS.entries()) {
  test(`recorded request ${number}, ${vector.form}: it is asked for and overlaid as the daemon's own reader does`, async () => {
    const { fake, sent, post } = held;
    answered = vector;
    const asked = fake.params(OVERLAY).length;
    for (const body of [vector.body, new TextEncoder().encode(vector.body)]) {
      await post(PATHS[vector.form], body);
      const got = sent.at(-1)?.body;
      assert.equal(typeof got, typeof body);
      assert.equal(typeof got === "string" ? got : new TextDecoder("utf-8", { ignoreBOM: true }).decode(got as Uint8Array), vector.overlaid ?? vector.body);
    }
    const params = vector.params === null ? [] : [vector.params, vector.params];
    assert.deepEqual(fake.params(OVERLAY).slice(asked), params);
  });
}

// -- which requests --

test("what is no prompt is passed as it is, and the daemon is not asked", async () => {
  const { fake, sent, post, warned } = await world();
  const stream = new Blob([HI]).stream();
  await post("embeddings", HI);
  await post("chat/completions", HI, { method: "PUT" });
  await post("chat/completions", stream);
  assert.deepEqual(sent.map(({ body }) => body), [HI, HI, stream]);
  assert.deepEqual([fake.params(OVERLAY), warned], [[], []]);
});

test("bytes that are no text are passed as they are, with one warning", async () => {
  const { sent, post, warned } = await world();
  const body = new Uint8Array([0x1f, 0x8b, 0xff]);
  await post("chat/completions", body);
  await post("chat/completions", body);
  assert.ok(sent.every((each) => each.body === body));
  assert.deepEqual(warned, ["NOT_A_PROMPT: the body is no text"]);
});

test("nothing new is asked for where tokens are counted", async () => {
  const { fake, post } = await world();
  await post("messages/count_tokens", HI);
  assert.equal(fake.params(OVERLAY)[0]?.["open"], false);
});

test("a length that the SDK has counted goes, and the other headers stay", async () => {
  const { sent, post } = await world();
  await post("chat/completions", HI, { headers: { "content-length": String(HI.length), "x-own": "1" } });
  assert.deepEqual([...(sent[0]?.headers ?? [])], [["x-own", "1"]]);
  assert.equal(sent[0]?.body, TOLD);
});

test("a request is sent as it was where the daemon has nothing", async () => {
  const { sent, post, warned, fake } = await world({
    [OVERLAY]: () => ({ insertions: [], token: null, reason: "nothingNew" }),
  });
  await post("chat/completions", HI);
  assert.deepEqual([sent[0]?.body, warned, fake.params(CONFIRM)], [HI, [], []]);
});

// -- what becomes of it --

test("the daemon is told what left and what the provider counted", async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1 };
  const { fake, post } = await world({}, {}, () => Response.json({ choices: [], usage }));
  assert.deepEqual(await (await post("chat/completions", HI)).json(), { choices: [], usage });
  const bodySha256 = createHash("sha256").update(TOLD).digest("hex");
  assert.deepEqual(await told(fake, CONFIRM), { token: "t", bodySha256 });
  assert.deepEqual(await told(fake, FINISHED), { token: "t", form: "openai", usage });
});

test("the daemon is told by which name the provider holds the chat, and asked for it before the next request", async () => {
  const answer = { id: "resp_1", object: "response", conversation: null, usage: null };
  const { fake, post } = await world({ [OVERLAY]: () => ({ insertions: [], token: "t", reason: "nothingNew" }) }, {}, () =>
    Response.json(answer),
  );
  await (await post("responses", `{"input":"hi"}`)).json();
  await (await post("responses", `{"input":"so?","previous_response_id":"resp_1"}`)).json();
  const responseId = createHash("sha256").update("resp_1").digest("hex");
  assert.deepEqual(fake.params(FINISHED)[0], { token: "t", form: "responses", responseId });
  assert.deepEqual(fake.params(OVERLAY).map(({ previousResponseId }) => previousResponseId), [undefined, responseId]);
});

test("what cannot be told fails nothing, and is said once", async () => {
  const { sent, post, warned } = await world({ [CONFIRM]: () => { throw wireError("BUSY"); } });
  assert.deepEqual(await (await post("chat/completions", HI)).json(), {});
  assert.deepEqual(await (await post("chat/completions", HI)).json(), {});
  assert.deepEqual(sent.map(({ body }) => body), [TOLD, TOLD]);
  assert.equal(warned[0], "BUSY: It is BUSY.");
});

test("a refused request is not told", async () => {
  const { fake, post } = await world({}, {}, () => Response.json({ usage: { prompt_tokens: 1 } }, { status: 429 }));
  await (await post("chat/completions", HI)).text();
  await post("chat/completions", HI);
  assert.deepEqual([...fake.params(CONFIRM), ...fake.params(FINISHED)], []);
});

const STREAMS: Readonly<Record<string, [events: string, usage: object]>> = {
  openai: [`data: {"choices":[],"usage":null}\n\ndata: {"choices":[],"usage":{"prompt_tokens":3}}\n\ndata: [DONE]\n\n`, { prompt_tokens: 3 }],
  responses: [`event: response.completed\r\ndata: {"response":{"usage":{"input_tokens":3,"x":"é"}}}\r\n\r\n`, { input_tokens: 3, x: "é" }],
  anthropic: [
    `data: {"message":{"usage":{"input_tokens":3,"output_tokens":1}}}\n\ndata: {"usage":{"output_tokens":9,"input_tokens":null}}\n\n`,
    { input_tokens: 3, output_tokens: 9 },
  ],
  gemini: [`data: {"usageMetadata":{"promptTokenCount":3}}\n\ndata: {"usageMetadata":{"promptTokenCount":4}}\n\n`, { promptTokenCount: 4 }],
};

for (const [form, [events, usage]] of Object.entries(STREAMS)) {
  test(`a stream of ${form} passes as it came, wherever it is cut, and its usage is told`, async () => {
    const bytes = new TextEncoder().encode(events);
    const pieces = ReadableStream.from(Array.from(bytes, (each) => Uint8Array.of(each)));
    const headers = { "content-type": "text/event-stream; charset=utf-8", "x-request-id": "1" };
    const { fake, post } = await world({}, {}, () => new Response(pieces as ReadableStream<Uint8Array>, { headers }));
    const response = await post("chat/completions", HI);
    assert.equal(response.headers.get("x-request-id"), "1");
    assert.equal(await response.text(), events);
    assert.deepEqual((await told(fake, FINISHED))["usage"], usage);
  });
}

test("an answer is not read before the app reads it, and what the app does not want is given up", async () => {
  const [events, usage] = STREAMS["gemini"] as [string, object];
  const [stopped, pulled] = [deferred<unknown>(), { times: 0 }];
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => ((pulled.times += 1), controller.enqueue(new TextEncoder().encode(events))),
      cancel: (reason) => stopped.resolve(reason),
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "text/event-stream" };
  const { fake, post } = await world({}, {}, () => new Response(endless, { headers }));
  const reader = (await post("chat/completions", HI)).body?.getReader();
  assert.equal(pulled.times, 0);
  await reader?.read();
  assert.equal(pulled.times, 1);
  await reader?.cancel("enough");
  assert.equal(await stopped.promise, "enough");
  assert.deepEqual((await told(fake, FINISHED))["usage"], usage);
});

test("the next request is asked for once the one before is confirmed, and an answer waits for nothing", async () => {
  const { fake, sent, post } = await world({ [CONFIRM]: () => SILENCE }, { timeoutMs: 50 });
  assert.deepEqual(await (await post("chat/completions", HI)).json(), {});
  await post("chat/completions", HI);
  assert.equal(fake.params(OVERLAY).length, 1);
  assert.deepEqual(sent.map(({ body }) => body), [TOLD, HI]);
});

// -- a daemon that does not help --

test("without a daemon requests go on as they are, with one warning", async () => {
  const gone = deferred<void>();
  const fake = await Fake.start();
  const onConnection = (state: string): void => void (state === "reconnecting" && gone.resolve());
  const lost = await client({ socket: fake.socket, onConnection });
  const { sent, post, warned } = await world({}, { client: lost });
  fake.stop();
  await gone.promise;
  await post("chat/completions", HI);
  await post("chat/completions", HI);
  assert.deepEqual(sent.map(({ body }) => body), [HI, HI]);
  assert.deepEqual(warned, ["NO_DAEMON: The client is not connected."]);
});

test("a daemon that breaks off in the middle delays nobody", async () => {
  const { sent, post, warned } = await world({ [OVERLAY]: ({ socket }) => (socket.destroy(), SILENCE) });
  await post("chat/completions", HI);
  assert.equal(sent[0]?.body, HI);
  assert.match(warned.join(), /^NO_DAEMON: /);
});

test("a daemon that does not answer is asked once, then left alone for a while", async () => {
  for (const [pauseMs, asked] of [[undefined, 1], [0, 2]] as const) {
    const { fake, sent, post, warned } = await world({ [OVERLAY]: () => SILENCE }, { timeoutMs: 20, pauseMs });
    await post("chat/completions", HI);
    await post("chat/completions", HI);
    assert.deepEqual(sent.map(({ body }) => body), [HI, HI]);
    assert.deepEqual(warned, ["TIMEOUT: The daemon did not answer within 20 ms."]);
    assert.equal(fake.params(OVERLAY).length, asked);
  }
});

test("a refusal is told once, until another reason comes or a request succeeds", async () => {
  const parts = ["PAUSED", "PAUSED", "BUSY", "", "BUSY"];
  const { post, warned } = await world({
    [OVERLAY]: (asked) => {
      const code = parts.shift();
      if (code) throw wireError(code);
      return ours(asked);
    },
  });
  for (const _ of [...parts]) await post("chat/completions", HI);
  assert.deepEqual(warned, ["PAUSED: It is PAUSED.", "BUSY: It is BUSY.", "BUSY: It is BUSY."]);
});

test("an answer that is none at all fails nothing", async () => {
  const { sent, post, warned } = await world({ [OVERLAY]: () => ({}) });
  await post("chat/completions", HI);
  assert.equal(sent[0]?.body, HI);
  assert.match(warned.join(), /^INTERNAL: /);
});

test("the process is warned where nobody asks to be told, and what is told may fail", async () => {
  const warnings: Error[] = [];
  const collect = (warning: Error): void => void (warning.name === "WorkspacedWarning" && warnings.push(warning));
  const refusing = { [OVERLAY]: () => { throw wireError("BUSY"); } };
  process.on("warning", collect);
  await (await world(refusing, { onError: undefined })).post("chat/completions", HI);
  const onError = (): never => {
    throw new Error("Oh.");
  };
  await (await world(refusing, { onError })).post("chat/completions", HI);
  await new Promise(setImmediate);
  process.off("warning", collect);
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ["BUSY: It is BUSY.", "INTERNAL: `onError` failed: Error: Oh."].map((why) => `A prompt goes on without context: ${why}`),
  );
});

test("nobody is warned of a request that was given up", async () => {
  const asked = deferred<void>();
  const { post, warned, sent } = await world({ [OVERLAY]: () => (asked.resolve(), SILENCE) });
  const giveUp = new AbortController();
  const answered = post("chat/completions", HI, { signal: giveUp.signal });
  await asked.promise;
  giveUp.abort();
  await answered;
  assert.deepEqual([warned, sent[0]?.body], [[], HI]); // the real `fetch` refuses: its signal is given on
});
