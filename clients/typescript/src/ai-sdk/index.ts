/**
 * A middleware for the AI SDK that puts what the user looks at into each request to a model.
 *
 * The app's messages never hold it: a prompt is changed on its way to the model. Whatever goes wrong, the prompt goes
 * on as it was, and a warning says once why.
 */

import type { Client } from "../client.js";
import { type ContextOptions, Placing } from "./placing.js";
import type { CallParams, Model } from "./prompt.js";

export type { ContextOptions } from "./placing.js";
export type { CallParams, Message, Model, Part, ProviderOptions } from "./prompt.js";

/** What `wrapLanguageModel` takes, by its structure: of `ai` 6 and 7. */
export interface ContextMiddleware {
  /** `ai` 7 takes middleware of this version as well as of its own, v4; the prompts of both are read. */
  readonly specificationVersion: "v3";
  transformParams<Params extends CallParams>(call: { params: Params; model: Model }): Promise<Params>;
}

/**
 * The middleware; it never fails, and delays a request by at most `timeoutMs`.
 *
 * @param client stays the caller's, who closes it. With `waitForDaemon` it may be made before the daemon runs.
 */
export function contextMiddleware(client: Client, options: ContextOptions = {}): ContextMiddleware {
  const placing = new Placing(client, options);
  return {
    specificationVersion: "v3",
    transformParams: ({ params, model }) => placing.place(params, model),
  };
}
