/** The publisher: from an editor's whole view to the daemons that serve what is open. */

import assert from "node:assert/strict";
import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";

import type { EventType, WorkspaceEvent } from "workspaced-client";
import { type EditorView, Publisher, type PublisherOptions, type PublisherStatus } from "workspaced-client/publisher";

import { cleanUp, Daemon, deferred, directory, Fake, SILENCE } from "./harness.js";

let home: string;
beforeEach(() => {
  home = directory();
  Object.assign(process.env, { HOME: home, XDG_RUNTIME_DIR: join(home, "run") });
  delete process.env["WORKSPACED_SOCKET"];
  delete process.env["WORKSPACED_WORKSPACE"];
});
after(cleanUp);

const stops: (() => Promise<void>)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

/** An editor that shows what it is told to show. */
class Editor {
  view: EditorView = { active: null, focused: true, tabs: [], pins: [], selection: null };
  looks = 0;
  readonly statuses: PublisherStatus[] = [];
  readonly publisher: Publisher;
  #next: () => void = () => {};

  constructor(options: Partial<PublisherOptions> = {}) {
    this.publisher = new Publisher({
      name: "test-1-1",
      commands: "test",
      look: () => {
        this.looks += 1;
        return this.view;
      },
      onChange: (status) => {
        this.statuses.push(status);
        this.#next();
      },
      ...options,
    });
    stops.push(() => this.publisher.stop());
  }

  show(view: Partial<EditorView>): void {
    this.view = { ...this.view, ...view };
    this.publisher.touch();
  }

  /** Shows it and waits until that is told. */
  async showing(view: Partial<EditorView>): Promise<void> {
    this.show(view);
    await this.publisher.settled();
  }

  /** Waits until the status is like that. */
  async until(isSo: (status: PublisherStatus) => boolean): Promise<PublisherStatus> {
    for (;;) {
      const status = this.publisher.status();
      if (isSo(status)) return status;
      await new Promise<void>((resolve) => (this.#next = resolve));
    }
  }
}

const tabs = (...paths: string[]): EditorView["tabs"] => paths.map((path) => ({ path }));
const isConnected = (status: PublisherStatus): boolean => status.daemons.some((each) => each.state === "connected");

/** What the log says of these types: source, type and data. The daemon's own observations are left out. */
async function told(daemon: Daemon, types: readonly EventType[]): Promise<unknown[]> {
  const reader = await daemon.client({ name: "reader" });
  const { events } = await reader.request("workspaced/log", { from: 1 });
  const isWanted = ({ type, source }: WorkspaceEvent): boolean => types.includes(type) && source !== "workspaced";
  return events.filter(isWanted).map((event) => [event.source, event.type, event.data]);
}

/** A daemon's part that serves a folder. */
function serving(path: string): Record<string, () => unknown> {
  return {
    "workspaced/hello": () => ({
      clock: "log:0",
      instance: "fake",
      version: "0",
      workspace: "fake",
      vaults: [{ id: "v", path }],
    }),
    "workspaced/snapshot": () => ({ events: [] }),
    "workspaced/publish": () => ({ events: [] }),
  };
}

test("what is open is told to the daemon that serves its folder, and taken back at the end", async () => {
  const daemon = await Daemon.start({ home });
  const [a, b] = ["a.md", "b.md"].map((name) => join(daemon.vault, name)) as [string, string];
  const editor = new Editor();
  await editor.showing({ active: a, tabs: tabs(a, b), pins: [join(daemon.vault, "c.md")] });
  const reader = await daemon.client({ name: "reader" });
  const state = await reader.state();
  assert.equal(state.activeNote?.id, "a.md");
  assert.deepEqual(
    state.temporaryTabs.map((tab) => tab.noteId),
    ["a.md", "b.md"],
  );
  assert.deepEqual(
    state.pinnedNotes.map((pin) => pin.id),
    ["c.md"],
  );
  await editor.publisher.stop();
  const left = await reader.state();
  assert.equal(left.activeNote, null);
  assert.deepEqual([left.temporaryTabs, left.pinnedNotes], [[], []]);
});

test("a thousand touches are one look", async () => {
  const editor = new Editor();
  await editor.publisher.settled();
  const before = editor.looks;
  for (let touch = 0; touch < 1_000; touch += 1) editor.publisher.touch();
  await editor.publisher.settled();
  assert.equal(editor.looks, before + 1);
});

test("a look that throws costs the editor nothing, and the status says so", async () => {
  const editor = new Editor({
    look: () => {
      throw new Error("the editor is upside down");
    },
  });
  await editor.publisher.settled();
  assert.equal(editor.publisher.status().problem, "the editor is upside down");
});

test("a daemon that comes later is found", async () => {
  const other = await Daemon.start({ home: directory() }); // its files: nobody of this home serves them yet
  await other.stop();
  const editor = new Editor();
  const note = join(other.vault, "a.md");
  await editor.showing({ active: note });
  assert.deepEqual(editor.publisher.status().unserved, [realpathSync(note)]);
  const fake = await Fake.start(serving(realpathSync(other.vault)));
  recordOf(fake, realpathSync(other.vault));
  await editor.until(isConnected);
  await editor.publisher.settled();
  assert.equal(fake.params("workspaced/snapshot")[0]?.["active"], "a.md");
});

/** A record of a fake, as a daemon leaves it. */
function recordOf(fake: Fake, ...vaults: string[]): void {
  const below = process.platform === "darwin" ? "Library/Application Support" : ".local/state";
  const folder = join(home, below, "workspaced", "daemons");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = fake.socket.replaceAll("/", "-");
  const record = { workspaced: 1, host: hostname(), pid: 1, socket: fake.socket, workspace: name.slice(-20) };
  const text = JSON.stringify({ ...record, version: "0", dataDir: "/d", vaults });
  writeFileSync(join(folder, `${name}.json`), text, { mode: 0o600 });
}

test("each note goes to the nearest daemon above it, and what is outside every vault to nobody", async () => {
  const root = realpathSync(directory());
  const [outer, inner, below] = [root, join(root, "in"), join(root, "in/deep")];
  mkdirSync(below, { recursive: true });
  const [outerDaemon, innerDaemon] = [await Fake.start(serving(outer)), await Fake.start(serving(inner))];
  recordOf(outerDaemon, outer);
  recordOf(innerDaemon, inner);
  const elsewhere = join(realpathSync(directory()), "x.md");
  const editor = new Editor();
  const [deep, near] = [join(below, "d.md"), join(outer, "o.md")];
  await editor.showing({ active: deep, tabs: tabs(deep, near, elsewhere) });
  const [last] = innerDaemon.params("workspaced/snapshot").slice(-1);
  assert.deepEqual([last?.["active"], last?.["tabs"]], ["deep/d.md", []]);
  const [first] = outerDaemon.params("workspaced/snapshot").slice(-1);
  assert.deepEqual([first?.["active"], first?.["tabs"]], [null, [{ note: "o.md", source: "navigation" }]]);
  assert.deepEqual(editor.publisher.status().unserved, [elsewhere]);
});

test("a record of a daemon that is gone keeps nobody from the next one above", async () => {
  const root = realpathSync(directory());
  const inner = join(root, "in");
  mkdirSync(inner);
  const [gone, there] = [await Fake.start(), await Fake.start(serving(root))];
  recordOf(gone, inner);
  recordOf(there, root);
  gone.stop();
  const editor = new Editor();
  editor.show({ active: join(inner, "a.md") });
  await editor.until(isConnected);
  await editor.publisher.settled();
  assert.equal(there.params("workspaced/snapshot")[0]?.["active"], "in/a.md");
});

test("a note that was left for another vault's stays active there while it is open, without the focus", async () => {
  const [one, two] = [realpathSync(directory()), realpathSync(directory())];
  const [first, second] = [await Fake.start(serving(one)), await Fake.start(serving(two))];
  recordOf(first, one);
  recordOf(second, two);
  const editor = new Editor();
  const [a, b] = [join(one, "a.md"), join(two, "b.md")];
  await editor.showing({ active: a, tabs: tabs(a, b) });
  await editor.showing({ active: b });
  const [left, entered] = [first, second].map((fake) => fake.params("workspaced/snapshot").at(-1));
  assert.deepEqual([left?.["active"], left?.["focused"]], ["a.md", false]);
  assert.deepEqual([entered?.["active"], entered?.["focused"]], ["b.md", true]);
  await editor.showing({ tabs: tabs(b) });
  assert.equal(first.params("workspaced/snapshot").at(-1)?.["active"], null);
});

test("paths are told as they are on the disk", async () => {
  const daemon = await Daemon.start({ home });
  const link = join(directory(), "link");
  symlinkSync(daemon.vault, link);
  const editor = new Editor();
  await editor.showing({ active: join(link, "a.md"), tabs: tabs(join(link, "a.md"), join(daemon.vault, "a.md")) });
  const shown = editor.publisher.status().daemons[0]?.vaults[0];
  assert.deepEqual([shown?.active, shown?.tabs], ["a.md", []]);
});

test("names that are no UTF-8, too long or hidden are told to nobody, and cost nothing else", async () => {
  const daemon = await Daemon.start({ home });
  const odd = ["caf\uFFFD.md", "half\uD83D.md", ".obsidian/x.md", `${"n".repeat(300)}.md`];
  const paths = odd.map((name) => join(daemon.vault, name));
  const editor = new Editor();
  const a = join(daemon.vault, "a.md");
  await editor.showing({ active: a, tabs: tabs(...paths, a), pins: paths });
  assert.deepEqual(await told(daemon, ["active_note_set", "note_pinned", "temporary_tab_opened"]), [
    ["test-1-1", "active_note_set", { note: "a.md" }],
  ]);
});

test("any file of the vault is told", async () => {
  const daemon = await Daemon.start({ home });
  mkdirSync(join(daemon.vault, "src"), { recursive: true });
  for (const name of ["src/a.py", "c.png"]) writeFileSync(join(daemon.vault, name), "x = 1\n");
  const editor = new Editor();
  const at = (name: string): string => join(daemon.vault, name);
  await editor.showing({ active: at("c.png"), tabs: tabs(at("src/a.py"), at("c.png")) });
  await editor.until(isConnected);
  await editor.publisher.settled();
  assert.deepEqual(editor.publisher.status().unserved, []);
  assert.deepEqual(await told(daemon, ["active_note_set"]), [["test-1-1", "active_note_set", { note: "c.png" }]]);
});

test("of thousands of tabs the last ten are told", async () => {
  const daemon = await Daemon.start({ home });
  const many = Array.from({ length: 5_000 }, (_, number) => join(daemon.vault, `n${number}.md`));
  const editor = new Editor();
  await editor.showing({ tabs: tabs(...many), pins: many });
  const [shown] = editor.publisher.status().daemons[0]?.vaults ?? [];
  assert.equal(shown?.pins.length, 500);
  assert.deepEqual(shown?.tabs, many.slice(-10).map((path) => path.slice(path.lastIndexOf("/") + 1)));
});

test("the view says whether the user is in the editor, and what is selected", async () => {
  const root = realpathSync(directory());
  const note = join(root, "a.md");
  const selection = { path: note, startLine: 2, endLine: 3, text: "two\nthree" };
  const fake = await Fake.start(serving(root));
  const editor = new Editor({ socket: fake.socket });
  await editor.showing({ active: note, selection });
  await editor.showing({ focused: false });
  const [shown, blurred] = fake.params("workspaced/snapshot").slice(-2);
  const lines = { startLine: 2, endLine: 3, text: "two\nthree" };
  assert.deepEqual([shown?.["focused"], shown?.["selection"]], [true, lines]);
  assert.deepEqual([blurred?.["focused"], blurred?.["selection"]], [false, lines]);
  assert.deepEqual(fake.params("workspaced/publish"), []);
});

test("a selection is told once it rests, without its text where that is long", async () => {
  const root = realpathSync(directory());
  const note = join(root, "a.md");
  const fake = await Fake.start(serving(root));
  const editor = new Editor({ socket: fake.socket });
  await editor.showing({ active: note });
  for (let endLine = 1; endLine <= 20; endLine += 1) {
    const before = editor.looks;
    editor.show({ selection: { path: note, startLine: 1, endLine, text: "x".repeat(100_000) } });
    while (editor.looks === before) await new Promise(setImmediate);
  }
  await editor.publisher.settled();
  const told = fake.params("workspaced/snapshot").map((each) => each["selection"]);
  assert.deepEqual(told, [null, { startLine: 1, endLine: 20 }]);
});

test("pins by command have the editor's name, and outlast its view", async () => {
  const daemon = await Daemon.start({ home });
  const note = join(daemon.vault, "a.md");
  const editor = new Editor();
  await editor.showing({ active: note });
  assert.deepEqual(await editor.publisher.pin(note), {
    ok: true,
    note: "a.md",
    vault: realpathSync(daemon.vault),
  });
  await editor.publisher.settled();
  assert.deepEqual(await told(daemon, ["note_pinned"]), [["test", "note_pinned", { note: "a.md" }]]);
  await editor.publisher.stop();
  const reader = await daemon.client({ name: "reader" });
  assert.equal((await reader.state()).pinnedNotes.length, 1);
  const next = new Editor({ name: "test-1-2" });
  await next.showing({ active: note });
  assert.equal((await next.publisher.unpin(note)).ok, true);
  assert.deepEqual((await reader.state()).pinnedNotes, []);
});

test("a pin that no daemon takes says so, and is told once one does", async () => {
  const root = realpathSync(directory());
  const editor = new Editor();
  const outcome = await editor.publisher.pin(join(root, "a.md"));
  assert.ok(!outcome.ok && outcome.message.includes("No daemon took"));
  assert.equal(editor.publisher.status().waiting, 1);
  const fake = await Fake.start(serving(root));
  recordOf(fake, root);
  await editor.until((status) => status.waiting === 0);
  assert.equal(fake.params("workspaced/publish").length, 1);
});

test("a rename is kept while the daemon is away, and is one event", async () => {
  const daemon = await Daemon.start({ home });
  const [from, to] = [join(daemon.vault, "a.md"), join(daemon.vault, "z.md")];
  const editor = new Editor();
  await editor.showing({ active: from });
  await daemon.stop();
  renameSync(from, to);
  editor.publisher.renamed(from, to);
  editor.show({ active: to });
  await editor.until((status) => status.waiting === 1 && !isConnected(status));
  await daemon.start();
  await editor.until((status) => status.waiting === 0);
  await editor.publisher.settled();
  assert.deepEqual(await told(daemon, ["note_renamed"]), [
    ["test-1-1", "note_renamed", { from: "a.md", to: "z.md" }],
  ]);
});

test("of a renamed folder each note is renamed, and one that left its vault is gone there", async () => {
  const daemon = await Daemon.start({ home });
  const folder = join(daemon.vault, "old");
  mkdirSync(join(folder, "sub"), { recursive: true });
  for (const name of ["x.md", "sub/y.md", "z.png"]) writeFileSync(join(folder, name), "# X\n");
  const editor = new Editor();
  await editor.showing({ active: join(folder, "x.md") });
  renameSync(folder, join(daemon.vault, "new"));
  editor.publisher.renamed(folder, join(daemon.vault, "new"));
  await editor.showing({ active: join(daemon.vault, "new/x.md") });
  assert.deepEqual(await told(daemon, ["note_renamed"]), [
    ["test-1-1", "note_renamed", { from: "old/x.md", to: "new/x.md" }],
    ["test-1-1", "note_renamed", { from: "old/sub/y.md", to: "new/sub/y.md" }],
  ]);
  const out = join(realpathSync(directory()), "x.md");
  renameSync(join(daemon.vault, "new/x.md"), out);
  editor.publisher.renamed(join(daemon.vault, "new/x.md"), out);
  editor.publisher.deleted(join(daemon.vault, "b.md"));
  await editor.showing({ active: null });
  assert.deepEqual(await told(daemon, ["note_deleted"]), [
    ["test-1-1", "note_deleted", { note: "new/x.md" }],
    ["test-1-1", "note_deleted", { note: "b.md" }],
  ]);
  assert.equal(editor.publisher.status().waiting, 0);
});

test("every connected daemon is paused and resumed, and the status shows it", async () => {
  const daemon = await Daemon.start({ home });
  const editor = new Editor();
  const unheard = await editor.publisher.pause();
  assert.deepEqual(unheard, [{ ok: false, message: "No daemon is connected." }]);
  await editor.showing({ active: join(daemon.vault, "a.md") });
  assert.deepEqual(await editor.publisher.pause("1h30m"), [{ ok: true, note: null, vault: "default" }]);
  const { since, until } = editor.publisher.status().daemons[0]?.paused ?? {};
  assert.equal(Math.round((Date.parse(String(until)) - Date.parse(String(since))) / 1000), 5_400);
  const [odd] = await editor.publisher.pause("soon");
  assert.ok(odd && !odd.ok && odd.message.includes("30m"));
  await editor.publisher.resume();
  assert.equal(editor.publisher.status().daemons[0]?.paused, undefined);
});

test("a socket that accepts and never answers costs nothing but a timer", async () => {
  const root = realpathSync(directory());
  const socket = join(directory(), "s");
  const arrived = deferred<void>();
  const open: { destroy(): void }[] = [];
  const silent = createServer((connection) => {
    open.push(connection);
    connection.on("error", () => {});
    arrived.resolve();
  }).listen(socket);
  after(() => {
    silent.close();
    for (const each of open) each.destroy();
  });
  const editor = new Editor({ socket });
  editor.show({ active: join(root, "a.md") });
  await arrived.promise;
  for (let touch = 0; touch < 100; touch += 1) editor.show({ active: join(root, `${touch}.md`) });
  const before = performance.now();
  await editor.publisher.stop();
  assert.ok(performance.now() - before < 2_000);
  assert.equal(open.length, 1);
});

test("a daemon that stops answering gets one small request, and then the newest view", async () => {
  const root = realpathSync(directory());
  const first = deferred<() => void>();
  let isFirst = true;
  const fake = await Fake.start({
    ...serving(root),
    "workspaced/snapshot": ({ id, socket }) => {
      if (!isFirst) return { events: [] };
      isFirst = false;
      first.resolve(() => socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { events: [] } })}\n`));
      return SILENCE;
    },
  });
  const editor = new Editor({ socket: fake.socket });
  editor.show({ active: join(root, "0.md") });
  const answer = await first.promise;
  for (let number = 1; number <= 20; number += 1) {
    const before = editor.looks;
    editor.show({ active: join(root, `${number}.md`) });
    while (editor.looks === before) await new Promise(setImmediate);
  }
  assert.equal(fake.params("workspaced/snapshot").length, 1);
  answer();
  await editor.publisher.settled();
  assert.deepEqual(
    fake.params("workspaced/snapshot").map((params) => params["active"]),
    ["0.md", "20.md"],
  );
});

test("of a daemon with several vaults the one the user is in becomes current", async () => {
  const [one, two] = [realpathSync(directory()), realpathSync(directory())];
  const vaults = [
    { id: "one", path: one },
    { id: "two", path: two },
  ];
  const parts = serving(one);
  const fake = await Fake.start({
    ...parts,
    "workspaced/hello": () => ({ ...(parts["workspaced/hello"]?.() as object), vaults }),
    "workspaced/state": () => ({ state: { currentVaultId: "one" } }),
  });
  const editor = new Editor({ socket: fake.socket });
  await editor.showing({ active: join(two, "b.md") });
  const methods = fake.asked.map(({ method }) => method.slice("workspaced/".length));
  assert.deepEqual(methods, ["hello", "subscribe", "state", "publish", "snapshot"]);
  assert.equal(fake.params("workspaced/snapshot")[0]?.["vault"], "two");
});

test("after a restart of the daemon the view is shown again, and its tools answer", async () => {
  const daemon = await Daemon.start({ home });
  const note = join(daemon.vault, "a.md");
  const editor = new Editor();
  await editor.showing({ active: note });
  await daemon.kill();
  await editor.until((status) => !isConnected(status));
  assert.equal(editor.publisher.clientFor(note), undefined);
  await daemon.start();
  await editor.until(isConnected);
  await editor.publisher.settled();
  const current = await editor.publisher.clientFor(note)?.call("get_current_note");
  assert.equal(current?.success, true);
  assert.equal(editor.publisher.socketFor(note), daemon.socket);
  assert.equal(editor.publisher.clientFor("/elsewhere/x.md"), undefined);
});
