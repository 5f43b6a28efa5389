/**
 * The client: one connection kept open, many requests in flight.
 *
 * It reconnects, shows the UI's last view again so that the daemon's state is right again, and gives every action
 * an id, so that what was in flight when the connection broke is retried and recorded once.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type {
  ConnectionState,
  ConnectOptions,
  MethodName,
  MethodResults,
  Notice,
  Pause,
  Receipt,
  ServerInfo,
  SubscribeOptions,
  Target,
  ToolAnswer,
  ToolName,
  View,
} from "./api.js";
import { Context } from "./context.js";
import { fillAnswer } from "./defaults.js";
import { locate } from "./discovery.js";
import { ClientClosed, InvalidArgument, NoDaemon, WorkspacedError } from "./errors.js";
import { newId } from "./ids.js";
import * as limits from "./limits.js";
import { Link } from "./link.js";
import { Outbox } from "./outbox.js";
import { PAUSE_EVENTS, PauseState } from "./pauses.js";
import { type Routes, Subscription } from "./subscription.js";
import type { Action, MethodParams, ToolArguments, WorkspaceState } from "./types.generated.js";
import { VERSION } from "./version.js";
import { ViewSender } from "./view.js";

/**
 * A connected client. Losses after the first connection are mended, and calls wait for that.
 *
 * @throws NoDaemon: nobody listens at the first try (unless `waitForDaemon`). InvalidArgument: an option.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const client = new Client(options);
  await client.open();
  return client;
}

export class Client {
  /** Conversations, and prompts made for them. */
  readonly context: Context = new Context((method, params) => this.request(method, params));
  readonly #options: ConnectOptions;
  readonly #name: string;
  readonly #source: string;
  readonly #timeoutMs: number;
  readonly #outbox: Outbox;
  /** One for each vault that was shown; the empty name stands for the current one. */
  readonly #views = new Map<string, ViewSender>();
  readonly #subscriptions = new Set<Subscription>();
  readonly #routes: Routes = new Map();
  readonly #pauses: PauseState;
  #followsPauses = false;
  readonly #closing = new AbortController();
  #target: Target;
  #link: Link | undefined;
  #server: ServerInfo | undefined;
  #keeping: Promise<void> = Promise.resolve();

  /** @internal For `connect`. */
  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#name = options.name ?? "typescript";
    this.#source = options.source ?? this.#name;
    for (const name of [this.#name, this.#source]) {
      if (name.length < 1 || name.length > limits.CLIENT_NAME_CHARS_MAX) {
        throw new InvalidArgument(
          `Expected a name of 1 to ${limits.CLIENT_NAME_CHARS_MAX} characters, got ${name.length}.`,
        );
      }
    }
    this.#pauses = new PauseState((paused) => this.#pausedIs(paused));
    this.#timeoutMs = options.timeoutMs ?? limits.TIMEOUT_MS;
    this.#target = { socket: options.socket, workspace: options.workspace, folder: options.folder };
    this.#outbox = new Outbox({
      requestsMax: options.queuedRequestsMax ?? limits.QUEUED_REQUESTS_MAX,
      bytesMax: options.queuedBytesMax ?? limits.QUEUED_BYTES_MAX,
    });
  }

  /** The daemon's answer to hello, of the present or last connection; undefined before the first one. */
  get server(): ServerInfo | undefined {
    return this.#server;
  }

  /** The present pause; undefined without one. */
  get paused(): Pause | undefined {
    return this.#pauses.paused;
  }

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  // -- calls --

  /**
   * Publishes a batch and settles with its receipts, once durable; retried across a reconnection, recorded once.
   *
   * @throws RemoteError: refused, none of it was recorded; `details.index` names the action. QueueFull. TimedOut.
   */
  async publish(actions: readonly Action[], options: { source?: string } = {}): Promise<readonly Receipt[]> {
    const named = actions.map((action) => (action.id ? action : { ...action, id: newId() }));
    const params = { actions: named, source: options.source ?? this.#source };
    const result = await this.#submit("workspaced/publish", params, true);
    return (result as MethodResults["workspaced/publish"]).events;
  }

  /**
   * Tells the UI's whole view; the daemon appends what differs. Settles with what was appended for it.
   *
   * Of the views of one turn only the last goes out, and none that is the same as the one before. It is sent again
   * after every reconnection. Nobody needs to wait: a rejection that is not looked at is no unhandled one.
   *
   * @param options.again sends it even if it did not change, for instance when the user comes back to this UI.
   * @throws RemoteError: refused. TimedOut: not taken in time; it still goes out when the daemon answers again.
   */
  show(view: View, options: { again?: boolean } = {}): Promise<readonly Receipt[]> {
    if (this.#closing.signal.aborted) return Promise.reject(new ClientClosed());
    const vault = view.vault ?? "";
    let sender = this.#views.get(vault);
    if (sender === undefined) {
      sender = new ViewSender(this.#source, (error) => this.#tell(error));
      this.#views.set(vault, sender);
      if (this.#link !== undefined) void sender.attach(this.#link);
    }
    return sender.show(view, options.again ?? false, this.#timeoutMs);
  }

  /**
   * A tool's answer, with the defaults that the daemon leaves out; what a tool cannot do is an answer, too, with
   * `success: false`.
   *
   * @throws RemoteError: there is no such tool. NoDaemon: the connection broke before the answer came. TimedOut.
   */
  async call<Name extends ToolName>(name: Name, args?: ToolArguments[Name]): Promise<ToolAnswer<Name>> {
    const result = await this.#submit("tools/call", { name, arguments: args ?? {} }, false);
    const { structuredContent } = result as { structuredContent: ToolAnswer<Name> };
    fillAnswer(name, structuredContent);
    return structuredContent;
  }

  /**
   * Pauses the workspace: nothing of what the user does is recorded, and agents are answered nothing, until it is
   * resumed. In a pause it sets another end.
   *
   * @param options.forS seconds after which it ends by itself.
   */
  async pause(options: { forS?: number } = {}): Promise<Pause | undefined> {
    this.#pauses.is((await this.request("workspaced/pause", options)).paused);
    return this.paused;
  }

  /** Ends a pause. Without one it changes nothing. */
  async resume(): Promise<void> {
    this.#pauses.is((await this.request("workspaced/resume")).paused);
  }

  /** The folded state of a vault; as it was at a sequence, or not before one. */
  async state(params: MethodParams["workspaced/state"] = {}): Promise<WorkspaceState> {
    return (await this.request("workspaced/state", params)).state;
  }

  /**
   * The result of any method.
   *
   * @throws RemoteError: refused. NoDaemon: the connection broke before the answer came. TimedOut. QueueFull.
   */
  async request<Name extends MethodName>(method: Name, params?: MethodParams[Name]): Promise<MethodResults[Name]> {
    return (await this.#submit(method, params ?? {}, false)) as MethodResults[Name];
  }

  /**
   * The events from now on, or since a clock: iterate over them, or give a function.
   *
   * They go on after a reconnection without a loss. The function is called for one notice after the other; the
   * next one waits for the promise it returns. If it fails, the subscription ends and `onError` gets the error.
   *
   * @throws RemoteError: refused, such as a `since` beyond the log. TimedOut.
   */
  async subscribe(
    options: SubscribeOptions = {},
    onNotice?: (notice: Notice) => void | Promise<void>,
  ): Promise<Subscription> {
    if (this.#closing.signal.aborted) throw new ClientClosed();
    const made = new Subscription(options, this.#routes, (ended) => this.#subscriptions.delete(ended));
    this.#subscriptions.add(made);
    const started = made.started(this.#timeoutMs);
    if (this.#link !== undefined) made.attach(this.#link);
    await started;
    if (onNotice !== undefined) void this.#deliver(made, onNotice);
    return made;
  }

  /**
   * Ends the connection, once what is under way is done, or after a second. Then calls fail with CLOSED, and
   * subscriptions end.
   */
  async close(): Promise<void> {
    if (this.#link !== undefined && !this.#closing.signal.aborted) {
      const idle = Promise.all([this.#outbox.idle(), ...[...this.#views.values()].map((view) => view.idle())]);
      await Promise.race([idle, sleep(limits.CLOSE_MS, undefined, { ref: false })]);
    }
    this.#closing.abort();
    for (const subscription of [...this.#subscriptions]) subscription.end();
    for (const view of this.#views.values()) view.close();
    this.#outbox.close();
    await this.#keeping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // -- the connection --

  /** @internal For `connect`. */
  async open(): Promise<void> {
    try {
      const link = await this.#establish();
      this.#keeping = this.#keep(link);
    } catch (error) {
      if (!this.#options.waitForDaemon || !(error instanceof NoDaemon)) throw error;
      this.#keeping = this.#keep(undefined);
    }
  }

  /** Serves one connection after the other until the client is closed. */
  async #keep(first: Link | undefined): Promise<void> {
    if (first === undefined) this.#connectionIs("reconnecting");
    let link = first ?? (await this.#establishAgain());
    while (link !== undefined) {
      this.#attach(link);
      await link.ended;
      this.#detach();
      if (!this.#closing.signal.aborted) this.#connectionIs("reconnecting");
      link = await this.#establishAgain();
    }
    this.#connectionIs("closed");
  }

  /** A new connection, however long it takes; undefined when the client is closed. */
  async #establishAgain(): Promise<Link | undefined> {
    for (let delayMs = limits.RETRY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, limits.RETRY_MAX_MS)) {
      try {
        await sleep(delayMs, undefined, { signal: this.#closing.signal });
        const link = await this.#establish();
        return this.#closing.signal.aborted ? undefined : link;
      } catch (error) {
        if (this.#closing.signal.aborted) return undefined;
        if (!(error instanceof WorkspacedError)) this.#tell(error); // and go on: a UI outlives what surprises us
      }
    }
  }

  /** A connection whose hello was answered. */
  async #establish(): Promise<Link> {
    const path = await locate(this.#target);
    const link = await Link.open(path);
    const close = (): void => link.close();
    this.#closing.signal.addEventListener("abort", close);
    void link.ended.then(() => this.#closing.signal.removeEventListener("abort", close));
    try {
      this.#server = await this.#hello(link);
    } catch (error) {
      link.close();
      throw error;
    }
    if (this.#target.workspace === undefined && this.#target.folder === undefined) {
      this.#target = { socket: path }; // the same daemon again, even if others start meanwhile
    }
    return link;
  }

  #hello(link: Link): Promise<ServerInfo> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(
          new NoDaemon(`What listens on ${link.path} does not answer.`, { hint: "Is it a workspaced daemon?" }),
        );
      }, this.#timeoutMs);
      const params = { client: { name: this.#name, version: VERSION, pid: process.pid } };
      link.request("workspaced/hello", params, (error, result) => {
        clearTimeout(timer);
        if (error === undefined) resolve(result as ServerInfo);
        else reject(error);
      });
    });
  }

  /** Shows the view again, takes up the subscriptions, and lets waiting calls go on. */
  #attach(link: Link): void {
    this.#link = link;
    if (this.#server !== undefined) this.#followPauses(this.#server);
    link.onNotice = (notice) => this.#routes.get(String(notice.params["subscription"]))?.take(notice);
    for (const subscription of [...this.#subscriptions]) subscription.attach(link);
    const shown = [...this.#views.values()].map((view) => view.attach(link));
    if (shown.length === 0) this.#outbox.attach(link);
    else void Promise.all(shown).then(() => this.#attachOutbox(link));
    this.#connectionIs("connected");
  }

  /** Follows pauses from the daemon's greeting on; the subscription outlives the connection. */
  #followPauses(server: ServerInfo): void {
    this.#pauses.is(server.paused);
    if (this.#followsPauses) return;
    this.#followsPauses = true;
    const options = { since: server.clock, types: PAUSE_EVENTS };
    const made = new Subscription(options, this.#routes, (ended) => this.#subscriptions.delete(ended));
    this.#subscriptions.add(made);
    void this.#deliver(made, (notice) => this.#pauses.take(notice));
  }

  #pausedIs(paused: Pause | undefined): void {
    try {
      this.#options.onPaused?.(paused);
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Calls continue once the state is the one that the UI shows, so every later read gets that state. */
  #attachOutbox(link: Link): void {
    if (this.#link === link) this.#outbox.attach(link);
  }

  #detach(): void {
    this.#link = undefined;
    this.#routes.clear();
    for (const view of this.#views.values()) view.detach();
    for (const subscription of this.#subscriptions) subscription.detach();
    this.#outbox.detach();
  }

  #submit(method: string, params: unknown, retried: boolean): Promise<unknown> {
    if (this.#closing.signal.aborted) return Promise.reject(new ClientClosed());
    return this.#outbox.submit(method, params, { timeoutMs: this.#timeoutMs, retried });
  }

  async #deliver(subscription: Subscription, onNotice: (notice: Notice) => void | Promise<void>): Promise<void> {
    try {
      for await (const notice of subscription) await onNotice(notice);
    } catch (error) {
      this.#tell(error);
    }
  }

  #connectionIs(state: ConnectionState): void {
    try {
      this.#options.onConnection?.(state);
    } catch (error) {
      this.#tell(error);
    }
  }

  #tell(error: unknown): void {
    const known =
      error instanceof WorkspacedError
        ? error
        : new WorkspacedError("INTERNAL", String(error), { details: { error } });
    if (this.#options.onError !== undefined) this.#options.onError(known);
    else process.emitWarning(known.message, { type: "WorkspacedWarning", code: known.code, detail: known.hint });
  }
}
