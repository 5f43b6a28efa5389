/** Models of the AI SDK, of both its versions, before a server that plays their providers. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createAnthropic as createAnthropicV3 } from "@ai-sdk/anthropic-v3";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAI as createOpenAIV3 } from "@ai-sdk/openai-v3";
import * as ai from "ai";
import * as aiV3 from "ai-v3";

import { type Client, overlayFetch } from "workspaced-client";

const ROOT = new URL("../../../../", import.meta.url);
/** How the server is started; the tests' runner names the interpreter. */
const COMMAND: string[] = JSON.parse(
  process.env["MODEL_SERVER_COMMAND"] ??
    JSON.stringify([".venv/bin/python", "tests/support/model_server.py"].map((path) => fileURLToPath(new URL(path, ROOT)))),
);

export class ModelServer {
  /** The bodies of all requests, in their order. */
  readonly sent: string[] = [];
  readonly #process: ChildProcess;
  #url = "";

  private constructor() {
    const [program, ...rest] = COMMAND as [string, ...string[]];
    this.#process = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"] });
  }

  static async start(): Promise<ModelServer> {
    const made = new ModelServer();
    const lines = createInterface({ input: made.#process.stdout as NonNullable<ChildProcess["stdout"]> });
    [made.#url] = (await once(lines, "line")) as [string];
    return made;
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    await once(this.#process, "exit");
  }

  /** The bodies sent since the last time. */
  take(): string[] {
    return this.sent.splice(0);
  }

  /** For a provider: where it is, and a `fetch` that keeps what is sent. */
  get settings(): { baseURL: string; apiKey: string; fetch: typeof fetch } {
    const keep: typeof fetch = (input, init) => {
      this.sent.push(String(init?.body));
      return fetch(input, init);
    };
    return { baseURL: `${this.#url}/v1`, apiKey: "none", fetch: keep };
  }
}

/** By default OpenAI keeps what it answered, and the SDK sends its ids alone. */
const WHOLE_HISTORY = ai.defaultSettingsMiddleware({ settings: { providerOptions: { openai: { store: false } } } });

type Settings = ModelServer["settings"];

const MAKERS = {
  "ai 7, openai": (settings: Settings) => createOpenAI(settings).chat("some-model"),
  "ai 7, responses": (settings: Settings) =>
    ai.wrapLanguageModel({ model: createOpenAI(settings).responses("some-model"), middleware: WHOLE_HISTORY }),
  "ai 7, anthropic": (settings: Settings) => createAnthropic(settings)("some-model"),
} as const;

const MAKERS_V3 = {
  "ai 6, openai": (settings: Settings) => createOpenAIV3(settings).chat("some-model"),
  "ai 6, anthropic": (settings: Settings) => createAnthropicV3(settings)("some-model"),
} as const;

/** A version of the SDK with a model of one provider. */
export interface Runtime {
  readonly sdk: typeof ai;
  /** Gets context. */
  readonly model: ai.LanguageModel;
  /** The same one without. */
  readonly plain: ai.LanguageModel;
}

export const RUNTIMES = [...Object.keys(MAKERS), ...Object.keys(MAKERS_V3)];

export function runtime(name: string, server: ModelServer, client: Client): Runtime {
  const settings = server.settings;
  const overlaid = { ...settings, fetch: overlayFetch({ client, fetch: settings.fetch }) };
  if (name in MAKERS) {
    const make = MAKERS[name as keyof typeof MAKERS];
    return { sdk: ai, model: make(overlaid), plain: make(settings) };
  }
  const make = MAKERS_V3[name as keyof typeof MAKERS_V3];
  // What these tests call is the same in both versions.
  return { sdk: aiV3, model: make(overlaid), plain: make(settings) } as unknown as Runtime;
}
